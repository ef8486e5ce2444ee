// bfloat16 as the upper half of a float32, compiled once per target so that loops over it vectorise.
#if defined(VERLC_KERNELS_BF16_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_BF16_INL_HPP
#undef VERLC_KERNELS_BF16_INL_HPP
#else
#define VERLC_KERNELS_BF16_INL_HPP
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Round to nearest even; NaN keeps its sign and upper payload and is made quiet.
HWY_INLINE uint16_t narrow_one(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
}

HWY_INLINE float widen_one(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
