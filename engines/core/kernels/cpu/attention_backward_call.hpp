// The attention backward as its per-target code sees it.
#pragma once

#include "core/kernels/cpu/attention_backward_plan.hpp"

namespace verlc::kernels {

/// Rows (a row is one head of one query) per block of the backward.
inline constexpr int64_t kBackwardRows = 48;

/// The call's arguments, and its scratch: per kv head the packed keys, then all partial sums.
struct BackwardCall {
  AttentionShape shape;
  PackedLayout layout;
  const float *q, *k, *v, *out, *dout, *lse;
  float *dq, *dk, *dv;
  BackwardPlan plan;
  float *packed, *sums;

  [[nodiscard]] int64_t group() const { return shape.num_heads / shape.num_kv_heads; }
  /// Row `key` of segment s in k, v, dk or dv.
  [[nodiscard]] int64_t kv_offset(int64_t s, int64_t key, int64_t kv_head) const {
    return ((layout.first(static_cast<size_t>(s)) + key) * shape.num_kv_heads + kv_head) * shape.head_dim;
  }
};

}  // namespace verlc::kernels
