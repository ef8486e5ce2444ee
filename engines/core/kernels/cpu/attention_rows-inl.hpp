// What attention forward and backward share per target: where keys lie, and products of rows with keys and
// values.
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

/// Rows of one register tile with four vectors, and vectors of it.
inline constexpr int kAttentionRows = kWide ? 6 : 4;
inline constexpr int kAttentionVecs = kWide ? 4 : 2;

/// out[r][g * 16 + lane] = sum over head_dim of a[r][d] * k[g][d][lane], for `groups` adjacent lane groups.
/// a: [rows, head_dim] with stride a_row; out has row stride kKeyBlock. At most kAttentionRows rows.
HWY_INLINE void rows_times_keys(int rows, const float* a, ptrdiff_t a_row, const float* k, int64_t head_dim,
                                int64_t groups, float* out) {
  const TileA left{a, a_row, 1};
  const ptrdiff_t group = head_dim * kKeyGroup;
  if constexpr (kWide) {
    for (; groups >= 4; groups -= 4, k += 4 * group, out += 4 * kKeyGroup) {
      tile_rows<4, false, float>(rows, left, TileB<float>{k, kKeyGroup, group},
                                 TileC{out, kKeyBlock, kKeyGroup}, head_dim, false);
    }
    const TileB<float> rest{k, kKeyGroup, group};
    const TileC rest_out{out, kKeyBlock, kKeyGroup};
    switch (groups) {
      case 3:
        return tile_rows<3, false, float>(rows, left, rest, rest_out, head_dim, false);
      case 2:
        return tile_rows<2, false, float>(rows, left, rest, rest_out, head_dim, false);
      case 1:
        return tile_rows<1, false, float>(rows, left, rest, rest_out, head_dim, false);
      default:
        return;
    }
  } else {
    for (int64_t g = 0; g < groups; ++g) {
      tile_rows<kStepVecs, false, float>(rows, left, TileB<float>{k + g * group, kKeyGroup, kLanes},
                                         TileC{out + g * kKeyGroup, kKeyBlock, kLanes}, head_dim, false);
    }
  }
}

/// c[r][0 .. width) += sum over `steps` in order of a[r][step] * b[step][0 .. width), one chain
/// that may be cut anywhere (pages and masks do); rows of c hold width
/// rounded up to 16 floats. At most kAttentionRows rows.
HWY_ATTR inline void rows_times_rows(int rows, TileA a, const float* b, ptrdiff_t b_row, int64_t steps,
                                     int64_t width, float* c, ptrdiff_t c_row) {
  constexpr int64_t kColumns = kAttentionVecs * kLanes;
  int64_t j = 0;
  for (; j + kColumns <= width; j += kColumns) {
    tile_rows<kAttentionVecs, false, float, true>(rows, a, TileB<float>{b + j, b_row, kLanes},
                                                  TileC{c + j, c_row, kLanes}, steps, true);
  }
  for (; j + kStep <= width; j += kStep) {
    tile_rows<kStepVecs, false, float, true>(rows, a, TileB<float>{b + j, b_row, kLanes},
                                             TileC{c + j, c_row, kLanes}, steps, true);
  }
  if (j == width) return;
  // The last columns go through a padded copy: nothing is read beyond a row.
  alignas(64) float padded[kKeyBlock * kStep];
  for (int64_t first = 0; first < steps; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, steps - first);
    for (int64_t s = 0; s < count; ++s)
      padded_tail(b + (first + s) * b_row + j, width - j, 0.0F, padded + s * kStep);
    tile_rows<kStepVecs, false, float, true>(rows, TileA{a.p + first * a.k, a.row, a.k},
                                             TileB<float>{padded, kStep, kLanes}, TileC{c + j, c_row, kLanes},
                                             count, true);
  }
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
