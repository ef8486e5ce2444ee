// Keys and values as the attention backward reads them, laid out once per call. Compiled once per target.
#if defined(VERLC_KERNELS_ATTENTION_BACKWARD_KEYS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_ATTENTION_BACKWARD_KEYS_INL_HPP
#undef VERLC_KERNELS_ATTENTION_BACKWARD_KEYS_INL_HPP
#else
#define VERLC_KERNELS_ATTENTION_BACKWARD_KEYS_INL_HPP
#endif

#include <cstring>

#include "core/kernels/cpu/attention_backward_call.hpp"
#include "core/kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// A segment's packed keys of one kv head; width is head_dim rounded up to 16, the extra columns and keys are
/// 0.
struct PackedKeys {
  float* k;        ///< [keys, width]
  float *kt, *vt;  ///< lane groups [keys / 16][head_dim][16]
};

HWY_INLINE PackedKeys packed_keys(const BackwardCall& call, int64_t segment, int64_t kv_head) {
  const BackwardPlan& plan = call.plan;
  const int64_t all = plan.num_keys * plan.width;
  float* const k = call.packed + kv_head * plan.packed_floats() +
                   plan.key_start[static_cast<size_t>(segment)] * plan.width;
  return {k, k + all, k + 2 * all};
}

/// [count, width] = rows of x, zeros behind each row and up to a multiple of kKeyGroup rows.
HWY_ATTR inline void copy_rows(const float* x, int64_t stride, int64_t count, int64_t dim, int64_t width,
                               float* to) {
  for (int64_t t = 0; t < count; ++t) {
    std::memcpy(to + t * width, x + t * stride, static_cast<size_t>(dim) * sizeof(float));
    std::memset(to + t * width + dim, 0, static_cast<size_t>(width - dim) * sizeof(float));
  }
  const int64_t rest = round_up(count, kKeyGroup) - count;
  std::memset(to + count * width, 0, static_cast<size_t>(rest * width) * sizeof(float));
}

/// rows [keys, width] -> lane groups.
HWY_ATTR inline void transpose_rows(const float* rows, int64_t keys, int64_t dim, int64_t width, float* to) {
  for (int64_t t = 0; t < keys; t += kLanes)
    transpose_lanes(rows + t * width, width, dim, to + t / kKeyGroup * kKeyGroup * dim + t % kKeyGroup,
                    kKeyGroup);
}

HWY_ATTR inline void pack_keys(const BackwardCall& call, int64_t segment, int64_t kv_head) {
  const int64_t dim = call.shape.head_dim;
  const int64_t width = call.plan.width;
  const int64_t stride = call.shape.num_kv_heads * dim;
  const int64_t length = call.layout.length(static_cast<size_t>(segment));
  const int64_t keys = round_up(length, kKeyGroup);
  const int64_t from = call.kv_offset(segment, 0, kv_head);
  const PackedKeys packed = packed_keys(call, segment, kv_head);
  // The values lie only transposed: their rows pass through the place of the keys.
  copy_rows(call.v + from, stride, length, dim, width, packed.k);
  transpose_rows(packed.k, keys, dim, width, packed.vt);
  copy_rows(call.k + from, stride, length, dim, width, packed.k);
  transpose_rows(packed.k, keys, dim, width, packed.kt);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
