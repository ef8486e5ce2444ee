// exp and row reductions in one fixed order, compiled once per target and used by every path that must agree.
#if defined(VERLC_KERNELS_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_MATH_INL_HPP
#undef VERLC_KERNELS_MATH_INL_HPP
#else
#define VERLC_KERNELS_MATH_INL_HPP
#endif

#include <cstring>

#include "core/kernels/cpu/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Vectors that make 16 floats: the step of every row loop, so that tails are padded to the same place
/// everywhere.
inline constexpr int kStep = 16;
inline constexpr int kStepVecs = kStep / kLanes;

/// Adding it rounds to an integer, left in the low bits of the sum.
inline constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23

/// e^r 2^n split of x: Cody-Waite reduction by ln 2, n = round(x / ln 2) = *shifted - kRounder; the
/// polynomial e^r has degree 6, which is within 2 ulp on |r| <= ln 2 / 2.
HWY_INLINE FloatVec exp_reduced(FloatTag d, FloatVec x, FloatVec* shifted) {
  const FloatVec rounder = hn::Set(d, kRounder);
  *shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), rounder);
  const FloatVec n = hn::Sub(*shifted, rounder);
  const FloatVec r =
      hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x));
  FloatVec p = hn::Set(d, 1.0F / 720.0F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  return hn::MulAdd(p, r, hn::Set(d, 1.0F));
}

/// Below -87.33 exp is taken as 0. NaN stays NaN: Min and Max of x86 return their second operand when one is
/// NaN, and only the portable ones need help.
HWY_INLINE FloatVec exp_ends(FloatTag d, FloatVec x, FloatVec p) {
  p = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33F)), p);
  if constexpr (HWY_TARGET == HWY_STATIC_TARGET) p = hn::IfThenElse(hn::Ne(x, x), x, p);
  return p;
}

/// e^x for every float; infinity above 88.72.
HWY_INLINE FloatVec exp_vec(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  FloatVec shifted;
  FloatVec p = exp_reduced(d, hn::Max(hn::Set(d, -88.0F), hn::Min(hn::Set(d, 89.0F), x)), &shifted);
  // 2^n in two factors, so that n = 128 and n = -127 pass.
  const auto whole = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, hn::Set(d, kRounder)));
  const auto half = hn::ShiftRight<1>(whole);
  const auto rest = hn::Sub(whole, half);
  const auto bias = hn::Set(di, 127);
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias))));
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(rest, bias))));
  return exp_ends(d, x, p);
}

/// e^x for x <= 80: what a softmax needs. The low bits of kRounder vanish in the shift, so 2^n takes two
/// operations.
HWY_INLINE FloatVec exp_softmax(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  FloatVec shifted;
  const FloatVec p = exp_reduced(d, hn::Max(hn::Set(d, -88.0F), x), &shifted);
  const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 127 << 23));
  return exp_ends(d, x, hn::Mul(p, hn::BitCast(d, power)));
}

/// Sum over `kStepVecs` accumulators and their lanes.
HWY_INLINE float sum_lanes(const FloatVec* acc) {
  const FloatTag d;
  FloatVec sum = acc[0];
  for (int v = 1; v < kStepVecs; ++v) sum = hn::Add(sum, acc[v]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE float max_lanes(const FloatVec* acc) {
  const FloatTag d;
  FloatVec best = acc[0];
  for (int v = 1; v < kStepVecs; ++v) best = hn::Max(best, acc[v]);
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

/// The last n % 16 floats of a row, padded with `pad`.
HWY_INLINE const float* padded_tail(const float* x, int64_t count, float pad, float* buffer) {
  for (int64_t i = count; i < kStep; ++i) buffer[i] = pad;
  std::memcpy(buffer, x, static_cast<size_t>(count) * sizeof(float));
  return buffer;
}

/// Sum of a*b*c over a row in one order; c may be null (= 1).
HWY_ATTR inline float row_dot(const float* a, const float* b, const float* c, int64_t dim) {
  const FloatTag d;
  FloatVec acc[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) acc[v] = hn::Zero(d);
  alignas(64) float tail[3][kStep];
  for (int64_t i = 0; i < dim; i += kStep) {
    const bool whole = i + kStep <= dim;
    const float* pa = whole ? a + i : padded_tail(a + i, dim - i, 0.0F, tail[0]);
    const float* pb = whole ? b + i : padded_tail(b + i, dim - i, 0.0F, tail[1]);
    const float* pc = c == nullptr ? nullptr : whole ? c + i : padded_tail(c + i, dim - i, 0.0F, tail[2]);
    for (int v = 0; v < kStepVecs; ++v) {
      FloatVec left = hn::LoadU(d, pa + v * kLanes);
      if (pc != nullptr) left = hn::Mul(left, hn::LoadU(d, pc + v * kLanes));
      acc[v] = hn::MulAdd(left, hn::LoadU(d, pb + v * kLanes), acc[v]);
    }
  }
  return sum_lanes(acc);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
