#include "core/kernels/cpu/gemm_table.hpp"

#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/gemm_table.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/kernels/cpu/bf16-inl.hpp"
#include "core/kernels/cpu/tile-inl.hpp"
#include "core/kernels/cpu/tile_pairs-inl.hpp"
#include "core/kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Vectors and rows of one register tile; three vectors of 16, 8 or 4 columns.
inline constexpr int kVectors = 3;
inline constexpr int kColumns = kVectors * kLanes;
inline constexpr int kRows = kWide ? 8 : 4;
static_assert(kPanel % kColumns == 0 && kTileRows % kRows == 0);

/// Fewer tiles than this can not bring the next panel near at a line a step: they fetch their own.
inline constexpr int64_t kSpreadTiles = 3;

HWY_INLINE void one_tile(int rows, const LeftRows& a, const float* p, const float* panel, TileC c,
                         int64_t depth, bool from_c, const Upcoming* next) {
  const TileA left{p, a.row, a.step};
  const TileB right{panel, kPanel, kLanes};
  if (next == nullptr) return tile_rows<kVectors, Fetch::far>(rows, left, right, c, depth, from_c);
  tile_rows<kVectors, Fetch::near>(rows, left, right, c, depth, from_c, *next);
}
HWY_INLINE void one_tile(int rows, const LeftRows& a, const float* p, const uint32_t* panel, TileC c,
                         int64_t depth, bool from_c, const Upcoming* /*next*/) {
  tile_pairs_rows<kVectors>(rows, p, a.row, a.step, panel, kPanel, c, depth, from_c);
}

template <typename B>
HWY_ATTR void full_tiles(const LeftRows& a, int64_t rows, const B* panel, int64_t depth, const PanelOut& out,
                         Ahead ahead) {
  const int64_t tiles = kPanel / kColumns * ((rows + kRows - 1) / kRows);
  const bool spread = tiles >= kSpreadTiles || ahead.p == nullptr;
  const void* first = ahead.p == nullptr ? panel : ahead.p;
  Upcoming next{static_cast<const char*>(first), ahead.bytes / std::max<int64_t>(1, tiles * depth)};
  for (int64_t j = 0; j < kPanel; j += kColumns) {
    for (int64_t i = 0; i < rows; i += kRows, next.p += next.step * depth) {
      const int count = static_cast<int>(std::min<int64_t>(kRows, rows - i));
      one_tile(count, a, a.p + i / kTileRows * a.tile + i % kTileRows * a.row, panel + j,
               TileC{out.c + i * out.row + j, out.row, kLanes}, depth, out.from_c, spread ? &next : nullptr);
    }
  }
}

/// The last, narrower panel goes through a buffer: outputs beyond `columns` are neither read nor written.
template <typename B>
HWY_ATTR void edge_tiles(const LeftRows& a, int64_t rows, const B* panel, int64_t depth,
                         const PanelOut& out) {
  alignas(64) float buffer[kTileRows * kPanel] = {};
  const size_t bytes = static_cast<size_t>(out.columns) * sizeof(float);
  for (int64_t i = 0; i < rows; i += kTileRows) {
    const int64_t count = std::min(kTileRows, rows - i);
    LeftRows left = a;
    left.p += i / kTileRows * a.tile;
    for (int64_t r = 0; out.from_c && r < count; ++r) {
      std::memcpy(buffer + r * kPanel, out.c + (i + r) * out.row, bytes);
    }
    full_tiles<B>(left, count, panel, depth, PanelOut{buffer, kPanel, kPanel, out.from_c}, {});
    for (int64_t r = 0; r < count; ++r) std::memcpy(out.c + (i + r) * out.row, buffer + r * kPanel, bytes);
  }
}

template <typename B>
HWY_ATTR void any_panel(LeftRows a, int64_t rows, const B* panel, int64_t depth, PanelOut out, Ahead next) {
  if (out.columns == kPanel) {
    full_tiles<B>(a, rows, panel, depth, out, next);
  } else {
    edge_tiles<B>(a, rows, panel, depth, out);
  }
}

HWY_ATTR void any_panel_pairs(LeftRows a, int64_t rows, const uint32_t* panel, int64_t depth, PanelOut out) {
  any_panel<uint32_t>(a, rows, panel, depth, out, {});
}

HWY_ATTR void pack_transposed(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) transpose_lanes(w + j * stride, stride, depth, out + j, kPanel);
  for (; j < kPanel; ++j) {
    if (j < columns) {
      for (int64_t k = 0; k < depth; ++k) out[k * kPanel + j] = w[j * stride + k];
    } else {
      for (int64_t k = 0; k < depth; ++k) out[k * kPanel + j] = 0.0F;
    }
  }
}

HWY_ATTR void pack_rows(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out) {
  const FloatTag d;
  for (int64_t k = 0; k < depth; ++k, w += stride, out += kPanel) {
    if (columns == kPanel) {
#pragma GCC unroll 16
      for (int64_t j = 0; j < kPanel; j += kLanes) hn::StoreU(hn::LoadU(d, w + j), d, out + j);
      continue;
    }
    std::memcpy(out, w, static_cast<size_t>(columns) * sizeof(float));
    for (int64_t j = columns; j < kPanel; ++j) out[j] = 0.0F;
  }
}

HWY_INLINE float round_one(float x) {
  return widen_one(narrow_one(x));
}

HWY_ATTR void round_row(const float* x, int64_t k, float* out) {
  for (int64_t i = 0; i < k; ++i) out[i] = round_one(x[i]);
}

HWY_ATTR void pack_rows_rounded(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth,
                                float* out) {
  for (int64_t k = 0; k < depth; ++k, out += kPanel) {
    round_row(w + k * stride, columns, out);
    for (int64_t j = columns; j < kPanel; ++j) out[j] = 0.0F;
  }
}

HWY_ATTR void pack_left_rounded(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out,
                                ptrdiff_t tile_stride) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < rows; i += kTileRows)
      round_row(dy + k * stride + i, std::min(kTileRows, rows - i),
                out + i / kTileRows * tile_stride + k * kTileRows);
  }
}

HWY_ATTR void pack_left(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out,
                        ptrdiff_t tile_stride) {
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = dy + k * stride;
    float* to = out + k * kTileRows;
    int64_t i = 0;
    for (; i + kTileRows <= rows; i += kTileRows)
      std::memcpy(to + i / kTileRows * tile_stride, from + i, kTileRows * sizeof(float));
    if (i < rows)
      std::memcpy(to + i / kTileRows * tile_stride, from + i, static_cast<size_t>(rows - i) * sizeof(float));
  }
}

HWY_ATTR void join(const float* even, const float* odd, uint32_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t high = odd == nullptr ? 0U : narrow_one(odd[i]);
    out[i] = narrow_one(even[i]) | high << 16;
  }
}

HWY_ATTR void narrow_row(const float* x, int64_t k, uint32_t* out) {
  for (int64_t i = 0; i < k / 2; ++i)
    out[i] = narrow_one(x[2 * i]) | static_cast<uint32_t>(narrow_one(x[2 * i + 1])) << 16;
  if (k % 2 != 0) out[k / 2] = narrow_one(x[k - 1]);
}

HWY_ATTR void pack_row_pairs(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth,
                             uint32_t* out) {
  for (int64_t k = 0; k < depth; k += 2, out += kPanel) {
    const float* even = w + k * stride;
    join(even, k + 1 < depth ? even + stride : nullptr, out, columns);
    for (int64_t j = columns; j < kPanel; ++j) out[j] = 0U;
  }
}

HWY_ATTR void pack_left_pairs(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, uint32_t* out,
                              ptrdiff_t tile_stride) {
  for (int64_t k = 0; k < depth; k += 2) {
    const float* even = dy + k * stride;
    const float* odd = k + 1 < depth ? even + stride : nullptr;
    for (int64_t i = 0; i < rows; i += kTileRows) {
      uint32_t* to = out + i / kTileRows * tile_stride + k / 2 * kTileRows;
      join(even + i, odd == nullptr ? nullptr : odd + i, to, std::min(kTileRows, rows - i));
    }
  }
}

HWY_ATTR void split(const uint32_t* pairs, int64_t depth, float* out) {
  const FloatTag d;
  for (int64_t k = 0; k < depth; k += 2, pairs += kPanel, out += 2 * kPanel) {
    for (int64_t j = 0; j < kPanel; j += kLanes) {
      const WordVec both = hn::LoadU(WordTag(), pairs + j);
      hn::StoreU(low_half(both), d, out + j);
      if (k + 1 < depth) hn::StoreU(high_half(both), d, out + kPanel + j);
    }
  }
}

const GemmTable* get_gemm_table() {
  static constexpr GemmTable kTable{
      &any_panel<float>,  &any_panel_pairs, &pack_transposed, &pack_rows,  &pack_left, &pack_rows_rounded,
      &pack_left_rounded, &pack_row_pairs,  &pack_left_pairs, &narrow_row, &round_row, &split};
  return &kTable;
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(get_gemm_table);

const GemmTable& gemm_table() {
  use_cpu_target();
  return *HWY_DYNAMIC_DISPATCH(get_gemm_table)();
}

}  // namespace verlc::kernels
#endif
