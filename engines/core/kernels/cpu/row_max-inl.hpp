// The largest scaled logit of a row or chunk, compiled once per target. Used where the trainer reduces its
// vocabulary chunks and where the sampler weighs a row, which must agree.
#if defined(VERLC_KERNELS_ROW_MAX_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_ROW_MAX_INL_HPP
#undef VERLC_KERNELS_ROW_MAX_INL_HPP
#else
#define VERLC_KERNELS_ROW_MAX_INL_HPP
#endif

#include <hwy/highway.h>

#include <limits>

#include "core/kernels/cpu/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// max over i < count of logits[i] * inv_temperature.
HWY_ATTR inline float row_max(const float* logits, int64_t count, float inv_temperature) {
  const FloatTag d;
  const FloatVec scale = hn::Set(d, inv_temperature);
  const float lowest = -std::numeric_limits<float>::infinity();
  FloatVec best[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) best[v] = hn::Set(d, lowest);
  alignas(64) float tail[kStep];
  for (int64_t i = 0; i < count; i += kStep) {
    const float* p = i + kStep <= count ? logits + i : padded_tail(logits + i, count - i, lowest, tail);
    for (int v = 0; v < kStepVecs; ++v) {
      best[v] = hn::Max(best[v], hn::Mul(hn::LoadU(d, p + v * kLanes), scale));
    }
  }
  return max_lanes(best);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
