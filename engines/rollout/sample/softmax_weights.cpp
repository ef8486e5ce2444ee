#include "rollout/sample/softmax_weights.hpp"

#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rollout/sample/softmax_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/kernels/cpu/math-inl.hpp"
#include "core/kernels/cpu/row_max-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

HWY_ATTR float weights_of_block(const float* logits, int64_t count, float inv_temperature, float max,
                                float* weights) {
  const FloatTag d;
  const FloatVec scale = hn::Set(d, inv_temperature);
  const FloatVec top = hn::Set(d, max);
  const float lowest = -std::numeric_limits<float>::infinity();
  FloatVec sum[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) sum[v] = hn::Zero(d);
  alignas(64) float tail[kStep];
  alignas(64) float tail_weights[kStep];
  for (int64_t i = 0; i < count; i += kStep) {
    const bool whole = i + kStep <= count;
    const float* p = whole ? logits + i : padded_tail(logits + i, count - i, lowest, tail);
    float* out = whole ? weights + i : tail_weights;
    for (int v = 0; v < kStepVecs; ++v) {
      const FloatVec e = exp_vec(d, hn::Sub(hn::Mul(hn::LoadU(d, p + v * kLanes), scale), top));
      hn::StoreU(e, d, out + v * kLanes);
      sum[v] = hn::Add(sum[v], e);
    }
    if (!whole) std::memcpy(weights + i, tail_weights, static_cast<size_t>(count - i) * sizeof(float));
  }
  return sum_lanes(sum);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(row_max);
HWY_EXPORT(weights_of_block);

static float call_row_max(const float* logits, int64_t vocab, float inv_temperature) {
  use_cpu_target();
  return HWY_DYNAMIC_DISPATCH(row_max)(logits, vocab, inv_temperature);
}

static float call_weights_of_block(const float* logits, int64_t count, float inv_temperature, float max,
                                   float* weights) {
  return HWY_DYNAMIC_DISPATCH(weights_of_block)(logits, count, inv_temperature, max, weights);
}

}  // namespace verlc::kernels

namespace verlc::rollout {

float scaled_max(const float* logits, int64_t vocab, float inv_temperature) {
  return kernels::call_row_max(logits, vocab, inv_temperature);
}

void softmax_weights(const float* logits, int64_t vocab, float inv_temperature, float max, float* weights,
                     float* block_sums) {
  for (int64_t begin = 0; begin < vocab; begin += kWeightBlock) {
    const int64_t count = std::min(kWeightBlock, vocab - begin);
    block_sums[begin / kWeightBlock] =
        kernels::call_weights_of_block(logits + begin, count, inv_temperature, max, weights + begin);
  }
}

}  // namespace verlc::rollout
#endif
