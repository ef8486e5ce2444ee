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

/// e^x for every float: Cody-Waite reduction by ln 2, then a polynomial of degree 6 (Taylor coefficients
/// refitted on |r| <= ln 2 / 2), within 2 ulp. Below -87.33 the result is 0, above 88.72 infinity; NaN stays
/// NaN.
HWY_INLINE FloatVec exp_vec(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  // Min and Max of x86 return their second operand when one is NaN, which keeps NaN; the portable ones do
  // not.
  const FloatVec y = hn::Max(hn::Set(d, -88.0F), hn::Min(hn::Set(d, 89.0F), x));
  const FloatVec n = hn::Round(hn::Mul(y, hn::Set(d, 1.44269504F)));
  const FloatVec r =
      hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(n, hn::Set(d, 0.693359375F), y));
  FloatVec p = hn::Set(d, 1.0F / 720.0F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  // 2^n in two factors, so that n = 128 and n = -127 pass.
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto rest = hn::Sub(whole, half);
  const auto bias = hn::Set(di, 127);
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias))));
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(rest, bias))));
  p = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33F)), p);
  if constexpr (HWY_TARGET == HWY_STATIC_TARGET) p = hn::IfThenElse(hn::Ne(x, x), x, p);
  return p;
}

/// Sum of `kStepVecs` accumulators, then of their lanes.
HWY_INLINE float sum_lanes(const FloatVec* acc) {
  const FloatTag d;
  alignas(64) float lanes[kStep];
  for (int v = 0; v < kStepVecs; ++v) hn::Store(acc[v], d, lanes + v * kLanes);
  for (int width = kStep / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

HWY_INLINE float max_lanes(const FloatVec* acc) {
  const FloatTag d;
  alignas(64) float lanes[kStep];
  for (int v = 0; v < kStepVecs; ++v) hn::Store(acc[v], d, lanes + v * kLanes);
  for (int width = kStep / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i] < lanes[i + width] ? lanes[i + width] : lanes[i];
  }
  return lanes[0];
}

/// The last n % 16 floats of a row, padded with `pad`.
HWY_INLINE const float* padded_tail(const float* x, int64_t count, float pad, float* buffer) {
  for (int64_t i = count; i < kStep; ++i) buffer[i] = pad;
  std::memcpy(buffer, x, static_cast<size_t>(count) * sizeof(float));
  return buffer;
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
