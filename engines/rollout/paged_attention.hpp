// Attention of generation: keys and values go to pages, queries read them there.
#pragma once

#include <vector>

#include "core/nn/forward_context.hpp"
#include "rollout/kv_cache.hpp"
#include "rollout/schedule/scheduler.hpp"

namespace verlc::rollout {

/// One step; the items' tokens stand one after another in q, k and v.
class PagedAttention final : public AttentionBackend {
 public:
  PagedAttention(const KvCache& cache, const std::vector<StepItem>& items);
  Var attend(Tape& tape, int64_t layer, const kernels::AttentionShape& shape, const Var& q, const Var& k,
             const Var& v) override;

 private:
  void point_at(int64_t layer);
  void write(Executor& threads, const kernels::AttentionShape& shape, const float* k, const float* v);

  const KvCache& cache_;
  const std::vector<StepItem>& items_;
  std::vector<int64_t> first_row_;  ///< of each item
  std::vector<size_t> first_page_;  ///< of each item in the two lists below
  std::vector<float*> k_pages_, v_pages_;
  std::vector<size_t> order_;  ///< item of each sequence below
  std::vector<kernels::AttentionSequence> sequences_;
};

}  // namespace verlc::rollout
