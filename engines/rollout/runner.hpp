// Carries out one step of the schedule: embedding, layers over the paged cache, and logits of the rows to
// sample.
#pragma once

#include "core/models/model.hpp"
#include "core/nn/rotary_table.hpp"
#include "rollout/kv_cache.hpp"
#include "rollout/schedule/scheduler.hpp"
#include "rollout/weights.hpp"

namespace verlc::rollout {

class Runner {
 public:
  /// Everything must outlive this object.
  Runner(const Context& context, Model& model, const Weights& weights, const KvCache& cache);

  /// Logits [num_sampled, vocab] of the items that sample, in their order; undefined when there is none.
  Tensor run(const StepPlan& plan);

 private:
  [[nodiscard]] Tensor last_rows(const StepPlan& plan, const Tensor& x) const;
  [[nodiscard]] Tensor head_logits(const Tensor& h) const;

  Context context_;
  Model& model_;
  const Weights& weights_;
  const KvCache& cache_;
  RotaryTable rotary_;
  std::vector<int32_t> ids_, positions_, cu_seqlens_;
};

}  // namespace verlc::rollout
