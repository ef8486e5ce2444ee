// What attention forward and backward share per target: products of rows with keys and with values.
#if defined(VERLC_KERNELS_ATTENTION_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_ATTENTION_ROWS_INL_HPP
#undef VERLC_KERNELS_ATTENTION_ROWS_INL_HPP
#else
#define VERLC_KERNELS_ATTENTION_ROWS_INL_HPP
#endif

#include <algorithm>

#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Rows of one register tile, lane groups of its keys, and vectors of its values.
inline constexpr int kAttentionRows = kWide ? 6 : 4;
inline constexpr int kAttentionGroups = kWide ? 4 : 1;
inline constexpr int kAttentionVecs = kWide ? 4 : 2;

/// Scores times this are exponents of two.
inline constexpr float kLog2E = 1.44269504F;

/// 2^x for x <= 120, within 2 ulp; 0 below -126.5. What a softmax in powers of two needs: x splits exactly
/// into n = round(x) and a rest, and the low bits of kRounder vanish in the shift, so 2^n takes two
/// operations.
HWY_INLINE FloatVec exp2_softmax(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  const FloatVec rounder = hn::Set(d, kRounder);
  // A NaN is the second operand and so stays one; the portable Max needs help.
  FloatVec low = hn::Max(hn::Set(d, -127.0F), x);
  if constexpr (HWY_TARGET == HWY_STATIC_TARGET) low = hn::IfThenElse(hn::Ne(x, x), x, low);
  const FloatVec shifted = hn::Add(low, rounder);
  const FloatVec r = hn::Sub(low, hn::Sub(shifted, rounder));
  FloatVec p = hn::Set(d, 1.54035304e-4F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.33335581e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 9.61812911e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 5.55041087e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.240226507F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.693147181F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 127 << 23));
  return hn::Mul(p, hn::BitCast(d, power));
}

/// to = x * factor; to may be x.
HWY_INLINE void scale_row(const float* x, float factor, int64_t count, float* to) {
  const FloatTag d;
  const FloatVec f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, to + i);
  for (; i < count; ++i) to[i] = x[i] * factor;
}

/// out[r][g * 16 + lane] = sum over head_dim in order of a[r][d] * keys[g][d][lane], one chain from 0; out
/// has row stride kKeyBlock. The lane groups may lie anywhere.
template <int R, int G>
HWY_ATTR HWY_NOINLINE void score_tile(const float* a, ptrdiff_t a_row, const float* const* keys,
                                      int64_t head_dim, float* out) {
  const FloatTag d;
  FloatVec acc[R][G * kStepVecs];
  const float* k[G];
#pragma GCC unroll 16
  for (int g = 0; g < G; ++g) k[g] = keys[g];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < G * kStepVecs; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < head_dim; ++i) {
    FloatVec b[G * kStepVecs];
#pragma GCC unroll 16
    for (int v = 0; v < G * kStepVecs; ++v)
      b[v] = hn::LoadU(d, k[v / kStepVecs] + i * kKeyGroup + v % kStepVecs * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const FloatVec left = hn::Set(d, a[r * a_row + i]);
#pragma GCC unroll 16
      for (int v = 0; v < G * kStepVecs; ++v) acc[r][v] = hn::MulAdd(left, b[v], acc[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < G * kStepVecs; ++v) hn::StoreU(acc[r][v], d, out + r * kKeyBlock + v * kLanes);
  }
}

/// score_tile for 1 ... kAttentionRows rows and 1 ... kAttentionGroups groups.
HWY_INLINE void rows_times_keys(int rows, int groups, const float* a, ptrdiff_t a_row,
                                const float* const* keys, int64_t head_dim, float* out) {
  with_count<kAttentionRows>(rows, [&](auto r) HWY_ATTR {
    with_count<kAttentionGroups>(groups, [&](auto g) HWY_ATTR {
      score_tile<decltype(r)::value, decltype(g)::value>(a, a_row, keys, head_dim, out);
    });
  });
}

/// c[r][0 .. width) += sum over `steps` in order of a[r][step] * b[step][0 .. width), one chain; width is a
/// multiple of 16. At most kAttentionRows rows.
HWY_ATTR inline void rows_times_rows(int rows, TileA a, const float* b, ptrdiff_t b_row, int64_t steps,
                                     int64_t width, float* c, ptrdiff_t c_row) {
  constexpr int64_t kColumns = kAttentionVecs * kLanes;
  int64_t j = 0;
  for (; j + kColumns <= width; j += kColumns) {
    tile_rows<kAttentionVecs, Fetch::none, true>(rows, a, TileB{b + j, b_row, kLanes},
                                                 TileC{c + j, c_row, kLanes}, steps, true);
  }
  for (; j < width; j += kStep) {
    tile_rows<kStepVecs, Fetch::none, true>(rows, a, TileB{b + j, b_row, kLanes}, TileC{c + j, c_row, kLanes},
                                            steps, true);
  }
}

/// c[r][v] += sum over keys [begin, end) in order of a[r][key] * row(key)[column + v], one chain that may be
/// cut anywhere. 16 rows stand at a time with stride b_row; groups[g] has those of keys 16 g ... 16 g + 15.
template <int R, int NV>
HWY_ATTR HWY_NOINLINE void value_tile(const float* a, const float* const* groups, ptrdiff_t b_row,
                                      ptrdiff_t column, int64_t begin, int64_t end, float* c,
                                      ptrdiff_t c_row) {
  const FloatTag d;
  FloatVec acc[R][NV];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::LoadU(d, c + r * c_row + column + v * kLanes);
  }
  for (int64_t key = begin; key < end;) {
    const float* b = groups[key / kKeyGroup] + key % kKeyGroup * b_row + column;
    const int64_t stop = std::min(end, (key / kKeyGroup + 1) * kKeyGroup);
    for (; key < stop; ++key, b += b_row) {
      FloatVec right[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const FloatVec left = hn::Set(d, a[r * kKeyBlock + key]);
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(left, right[v], acc[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[r][v], d, c + r * c_row + column + v * kLanes);
  }
}

/// value_tile for 1 ... kAttentionRows rows.
template <int NV>
HWY_INLINE void value_tile_rows(int rows, const float* a, const float* const* groups, ptrdiff_t b_row,
                                ptrdiff_t column, int64_t begin, int64_t end, float* c, ptrdiff_t c_row) {
  with_count<kAttentionRows>(rows, [&](auto r) HWY_ATTR {
    value_tile<decltype(r)::value, NV>(a, groups, b_row, column, begin, end, c, c_row);
  });
}

/// value_tile over all head_dim columns, for at most kAttentionRows rows and keys of one key block; rows of c
/// hold head_dim rounded up to 16 floats.
HWY_ATTR inline void rows_times_values(int rows, const float* a, const float* const* groups, int64_t head_dim,
                                       int64_t begin, int64_t end, float* c, ptrdiff_t c_row) {
  constexpr int64_t kColumns = kAttentionVecs * kLanes;
  int64_t j = 0;
  for (; j + kColumns <= head_dim; j += kColumns)
    value_tile_rows<kAttentionVecs>(rows, a, groups, head_dim, j, begin, end, c, c_row);
  for (; j + kStep <= head_dim; j += kStep)
    value_tile_rows<kStepVecs>(rows, a, groups, head_dim, j, begin, end, c, c_row);
  if (j == head_dim) return;
  // The last columns go through a padded copy: nothing is read beyond a row.
  alignas(64) float padded[kKeyBlock * kStep];
  const float* padded_groups[kKeyBlock / kKeyGroup];
  for (int64_t g = 0; g < kKeyBlock / kKeyGroup; ++g) padded_groups[g] = padded + g * kKeyGroup * kStep;
  for (int64_t key = begin; key < end; ++key)
    padded_tail(groups[key / kKeyGroup] + key % kKeyGroup * head_dim + j, head_dim - j, 0.0F,
                padded + key * kStep);
  value_tile_rows<kStepVecs>(rows, a, padded_groups, kStep, 0, begin, end, c + j, c_row);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
