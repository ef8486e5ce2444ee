// The micro-kernel over panels of bfloat16 pairs, compiled once per target. Same segments and same order as
// tile(): widened against float rows it gives the bits of tile() on the widened panel.
#if defined(VERLC_KERNELS_TILE_PAIRS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_TILE_PAIRS_INL_HPP
#undef VERLC_KERNELS_TILE_PAIRS_INL_HPP
#else
#define VERLC_KERNELS_TILE_PAIRS_INL_HPP
#endif

#include "core/kernels/cpu/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

using WordTag = hn::RebindToUnsigned<FloatTag>;
using WordVec = hn::Vec<WordTag>;

HWY_INLINE FloatVec low_half(WordVec pairs) {
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs));
}
HWY_INLINE FloatVec high_half(WordVec pairs) {
  return hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(WordTag(), 0xFFFF0000U)));
}

/// acc += a * b over one pair of steps; `whole` false: only the first of the two.
template <int R, int NV>
HWY_INLINE void pair_step(FloatVec (&acc)[R][NV], const float* a, ptrdiff_t row, ptrdiff_t step,
                          const WordVec (&b)[NV], bool whole) {
  const FloatTag d;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const FloatVec av = hn::Set(d, a[r * row]);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, low_half(b[v]), acc[r][v]);
  }
  if (!whole) return;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const FloatVec av = hn::Set(d, a[r * row + step]);
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, high_half(b[v]), acc[r][v]);
  }
}
/// `depth` steps of k.
template <int R, int NV>
HWY_ATTR HWY_NOINLINE void tile_pairs(const float* a, ptrdiff_t row, ptrdiff_t step, const uint32_t* b,
                                      ptrdiff_t b_row, TileC c, int64_t depth, bool from_c) {
  const FloatTag d;
  for (int64_t k0 = 0; k0 < depth || k0 == 0; k0 += kSegment) {
    const int64_t steps = HWY_MIN(kSegment, depth - k0);
    FloatVec acc[R][NV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::Zero(d);
    }
    for (int64_t i = 0; i < steps; i += 2, a += 2 * step, b += b_row) {
      WordVec bv[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        bv[v] = hn::LoadU(WordTag(), b + v * kLanes);
        fetch_panel<Fetch::far>(b + v * kLanes);
      }
      pair_step<R, NV>(acc, a, row, step, bv, i + 2 <= steps);
    }
    const bool onto_c = from_c || k0 > 0;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        float* out = c.p + r * c.row + v * c.vec;
        hn::StoreU(onto_c ? hn::Add(hn::LoadU(d, out), acc[r][v]) : acc[r][v], d, out);
      }
    }
  }
}

/// tile_pairs() for 1 to 8 rows (4 with 16 registers).
template <int NV>
HWY_ATTR void tile_pairs_rows(int rows, const float* a, ptrdiff_t row, ptrdiff_t step, const uint32_t* b,
                              ptrdiff_t b_row, TileC c, int64_t depth, bool from_c) {
  with_count<kWide ? 8 : 4>(rows, [&](auto r) HWY_ATTR {
    tile_pairs<decltype(r)::value, NV>(a, row, step, b, b_row, c, depth, from_c);
  });
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
