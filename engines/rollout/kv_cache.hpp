// The memory of the key and value cache: per layer, pages of keys and pages of values, as
// kernels/cpu/attention.hpp lays them out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/models/model_config.hpp"
#include "core/tensor/context.hpp"
#include "rollout/config.hpp"
#include "rollout/schedule/page_pool.hpp"

namespace verlc::rollout {

class KvCache {
 public:
  KvCache(const Context& context, const CachePlan& plan, int64_t num_layers);

  /// Takes the memory (contents undefined) / gives it back.
  void allocate();
  void drop() { layers_.clear(); }
  [[nodiscard]] bool present() const { return !layers_.empty(); }

  [[nodiscard]] float* k_page(int64_t layer, int32_t page) const {
    return layers_[static_cast<size_t>(layer)].f32() + page * half_floats_;
  }
  [[nodiscard]] float* v_page(int64_t layer, int32_t page) const {
    return layers_[static_cast<size_t>(layer)].f32() + (plan_.num_pages + page) * half_floats_;
  }
  [[nodiscard]] int64_t page_size() const { return plan_.page_size; }
  /// Carries out the copies in their order, in every layer.
  void copy(std::span<const PageCopy> copies) const;

 private:
  Context context_;
  CachePlan plan_;
  int64_t num_layers_;
  int64_t half_floats_;         ///< of one page of keys
  std::vector<Tensor> layers_;  ///< [2 * num_pages * half_floats]
};

}  // namespace verlc::rollout
