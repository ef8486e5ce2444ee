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
#include "core/kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Vectors and rows of one register tile; three vectors of 16, 8 or 4 columns.
inline constexpr int kVectors = 3;
inline constexpr int kColumns = kVectors * kLanes;
inline constexpr int kRows = kWide ? 8 : 4;
static_assert(kPanel % kColumns == 0 && kTileRows % kRows == 0);

template <bool kPrefetch, typename T>
HWY_ATTR void full_tiles(const LeftRows& a, int64_t rows, const T* panel, int64_t depth,
                         const PanelOut& out) {
  for (int64_t j = 0; j < kPanel; j += kColumns) {
    for (int64_t i = 0; i < rows; i += kRows) {
      const int count = static_cast<int>(std::min<int64_t>(kRows, rows - i));
      const TileA left{a.p + i / kTileRows * a.tile + i % kTileRows * a.row, a.row, a.step};
      tile_rows<kVectors, kPrefetch, T>(count, left, TileB<T>{panel + j, kPanel, kLanes},
                                        TileC{out.c + i * out.row + j, out.row, kLanes}, depth, out.from_c);
    }
  }
}

/// The last, narrower panel goes through a buffer: outputs beyond `columns` are neither read nor written.
template <typename T>
HWY_ATTR void edge_tiles(const LeftRows& a, int64_t rows, const T* panel, int64_t depth,
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
    full_tiles<false, T>(left, count, panel, depth, PanelOut{buffer, kPanel, kPanel, out.from_c});
    for (int64_t r = 0; r < count; ++r) std::memcpy(out.c + (i + r) * out.row, buffer + r * kPanel, bytes);
  }
}

template <bool kPrefetch, typename T>
HWY_ATTR void any_panel(LeftRows a, int64_t rows, const T* panel, int64_t depth, PanelOut out) {
  if (out.columns == kPanel) {
    full_tiles<kPrefetch, T>(a, rows, panel, depth, out);
  } else {
    edge_tiles<T>(a, rows, panel, depth, out);
  }
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
  for (int64_t k = 0; k < depth; ++k) {
    std::memcpy(out + k * kPanel, w + k * stride, static_cast<size_t>(columns) * sizeof(float));
    for (int64_t j = columns; j < kPanel; ++j) out[k * kPanel + j] = 0.0F;
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

HWY_ATTR void widen(const uint16_t* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = widen_one(x[i]);
}

HWY_ATTR void narrow(const float* x, uint16_t* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = narrow_one(x[i]);
}

const GemmTable* get_gemm_table() {
  static constexpr GemmTable kTable{&any_panel<false, float>,
                                    &any_panel<true, float>,
                                    &any_panel<true, uint16_t>,
                                    &pack_transposed,
                                    &pack_rows,
                                    &pack_left,
                                    &widen,
                                    &narrow};
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
