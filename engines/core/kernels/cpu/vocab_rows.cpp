#include "core/kernels/cpu/vocab_rows.hpp"

#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/vocab_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "core/kernels/cpu/math-inl.hpp"
#include "core/kernels/cpu/row_max-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Sums of e = exp(x - max) and, when wanted, of e (x - max). A logit of -inf adds nothing to either.
HWY_ATTR void chunk_sums(const float* logits, int64_t count, float inv_temperature, float max, float* sum,
                         float* weighted) {
  const FloatTag d;
  const FloatVec scale = hn::Set(d, inv_temperature);
  const FloatVec top = hn::Set(d, max);
  const FloatVec floor = hn::Set(d, -1000.0F);
  FloatVec plain[kStepVecs];
  FloatVec product[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) plain[v] = product[v] = hn::Zero(d);
  alignas(64) float tail[kStep];
  const float lowest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; i += kStep) {
    const float* p = i + kStep <= count ? logits + i : padded_tail(logits + i, count - i, lowest, tail);
    for (int v = 0; v < kStepVecs; ++v) {
      const FloatVec y = hn::Sub(hn::Mul(hn::LoadU(d, p + v * kLanes), scale), top);
      const FloatVec e = exp_softmax(d, y);
      plain[v] = hn::Add(plain[v], e);
      if (weighted != nullptr) product[v] = hn::MulAdd(e, hn::Max(floor, y), product[v]);
    }
  }
  *sum = sum_lanes(plain);
  if (weighted != nullptr) *weighted = sum_lanes(product);
}

HWY_INLINE void gradient_step(float* logits, const LogitGradient& row) {
  const FloatTag d;
  const FloatVec scale = hn::Set(d, row.inv_temperature);
  for (int v = 0; v < kStep; v += kLanes) {
    const FloatVec logp = hn::Sub(hn::Mul(hn::LoadU(d, logits + v), scale), hn::Set(d, row.lse));
    const FloatVec p = exp_softmax(d, logp);
    // d_logp + d_entropy (logp + H), the factor of -p; logp is bounded so that p = 0 gives 0.
    const FloatVec surprise = hn::Add(hn::Max(hn::Set(d, -1000.0F), logp), hn::Set(d, row.entropy));
    const FloatVec factor = hn::MulAdd(hn::Set(d, row.d_entropy), surprise, hn::Set(d, row.d_logp));
    hn::StoreU(hn::Neg(hn::Mul(hn::Mul(p, factor), scale)), d, logits + v);
  }
}

HWY_ATTR void gradient_row(float* logits, int64_t count, const LogitGradient& row) {
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) gradient_step(logits + i, row);
  if (i < count) {
    alignas(64) float tail[kStep];
    padded_tail(logits + i, count - i, 0.0F, tail);
    gradient_step(tail, row);
    std::memcpy(logits + i, tail, static_cast<size_t>(count - i) * sizeof(float));
  }
  if (row.target >= 0 && row.target < count) logits[row.target] += row.d_logp * row.inv_temperature;
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(row_max);
HWY_EXPORT(chunk_sums);
HWY_EXPORT(gradient_row);

SoftmaxSums no_logits() {
  return {-std::numeric_limits<float>::infinity(), 0.0, 0.0};
}

void add_chunk(SoftmaxSums& sums, const float* logits, int64_t count, float inv_temperature,
               bool want_weighted) {
  float max = HWY_DYNAMIC_DISPATCH(row_max)(logits, count, inv_temperature);
  const bool masked = max == -std::numeric_limits<float>::infinity();
  if (masked) max = 0.0F;  // still summed, so that NaN shows
  float sum = 0;
  float weighted = 0;
  HWY_DYNAMIC_DISPATCH(chunk_sums)
  (logits, count, inv_temperature, max, &sum, want_weighted ? &weighted : nullptr);
  if (masked && sum == 0.0F) return;
  if (sums.sum == 0.0) {
    sums = {max, sum, weighted};
    return;
  }
  // Both sides move to the common maximum: sum' = e^s sum, weighted' = e^s (weighted + s sum), s = old - new.
  const float top = max > sums.max ? max : sums.max;
  const double own = static_cast<double>(sums.max) - top;
  const double other = static_cast<double>(max) - top;
  const double own_factor = std::exp(own);
  const double other_factor = std::exp(other);
  sums.weighted = own_factor * (sums.weighted + own * sums.sum) + other_factor * (weighted + other * sum);
  sums.sum = own_factor * sums.sum + other_factor * sum;
  sums.max = top;
}

float log_sum_exp(const SoftmaxSums& sums) {
  return static_cast<float>(sums.max + std::log(sums.sum));
}

float entropy_of(const SoftmaxSums& sums) {
  return static_cast<float>(std::log(sums.sum) - sums.weighted / sums.sum);
}

void logits_to_gradient(float* logits, int64_t count, const LogitGradient& row) {
  HWY_DYNAMIC_DISPATCH(gradient_row)(logits, count, row);
}

}  // namespace verlc::kernels
#endif
