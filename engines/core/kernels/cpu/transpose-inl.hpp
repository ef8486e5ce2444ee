// Transposed copies of narrow blocks: rows of a matrix become lanes. Compiled once per target.
#if defined(VERLC_KERNELS_TRANSPOSE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_TRANSPOSE_INL_HPP
#undef VERLC_KERNELS_TRANSPOSE_INL_HPP
#else
#define VERLC_KERNELS_TRANSPOSE_INL_HPP
#endif

#include "core/kernels/cpu/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Four floats of rows 0, 4, 8, 12 (as many as there are blocks of four lanes), one row to a block.
template <int kWidth>
HWY_INLINE auto load_every_fourth(const float* p, ptrdiff_t stride) {
  const hn::CappedTag<float, kWidth> d;
  if constexpr (kWidth == 4) {
    return hn::LoadU(d, p);
  } else {
    constexpr int kHalf = kWidth / 2;
    return hn::Combine(d, load_every_fourth<kHalf>(p + kHalf * stride, stride),
                       load_every_fourth<kHalf>(p, stride));
  }
}

/// out[k][j] = w[j][k] for j < kLanes, k < depth; strides between rows of w and of out.
HWY_INLINE void transpose_lanes(const float* w, ptrdiff_t stride, int64_t depth, float* out,
                                ptrdiff_t out_stride) {
  const FloatTag d;
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const FloatVec r0 = load_every_fourth<kLanes>(w + k, stride);
    const FloatVec r1 = load_every_fourth<kLanes>(w + stride + k, stride);
    const FloatVec r2 = load_every_fourth<kLanes>(w + 2 * stride + k, stride);
    const FloatVec r3 = load_every_fourth<kLanes>(w + 3 * stride + k, stride);
    const FloatVec even = hn::InterleaveLower(d, r0, r2);
    const FloatVec odd = hn::InterleaveLower(d, r1, r3);
    const FloatVec even_upper = hn::InterleaveUpper(d, r0, r2);
    const FloatVec odd_upper = hn::InterleaveUpper(d, r1, r3);
    hn::StoreU(hn::InterleaveLower(d, even, odd), d, out + k * out_stride);
    hn::StoreU(hn::InterleaveUpper(d, even, odd), d, out + (k + 1) * out_stride);
    hn::StoreU(hn::InterleaveLower(d, even_upper, odd_upper), d, out + (k + 2) * out_stride);
    hn::StoreU(hn::InterleaveUpper(d, even_upper, odd_upper), d, out + (k + 3) * out_stride);
  }
  for (; k < depth; ++k) {
    for (int j = 0; j < kLanes; ++j) out[k * out_stride + j] = w[j * stride + k];
  }
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
