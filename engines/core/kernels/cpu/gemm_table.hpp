// Inside of the matrix products: the per-target functions, and the block sizes they share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/cpu/gemm.hpp"

namespace verlc::kernels {

/// Steps of the reduction per pass over a panel: 96 KiB of panel stay in the second-level cache, and the
/// loads and stores of c weigh 2 %.
inline constexpr int64_t kDepth = 512;
/// Rows per packed tile of the left operand of gemm_tn.
inline constexpr int64_t kTileRows = 8;

/// Rows of the left operand: row i is at p + (i / 8) * tile + (i % 8) * row, step k at + k * step.
struct LeftRows {
  const float* p;
  ptrdiff_t row, step, tile;
};

/// A panel of kPanel columns: c[i][0 .. columns) (+)= sum over `depth` steps; `columns` <= kPanel.
struct PanelOut {
  float* c;
  ptrdiff_t row;
  int64_t columns;
  bool from_c;
};

struct GemmTable {
  void (*panel)(LeftRows a, int64_t rows, const float* panel, int64_t depth, PanelOut out);
  /// panel() for the packed stream: prefetches ahead of itself.
  void (*panel_stream)(LeftRows a, int64_t rows, const float* panel, int64_t depth, PanelOut out);
  void (*panel_bf16)(LeftRows a, int64_t rows, const uint16_t* panel, int64_t depth, PanelOut out);
  /// out[k][j] = w[j][k] for j < columns, 0 beyond; `stride` between rows of w.
  void (*pack_transposed)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out);
  /// out[k][j] = w[k][j] for j < columns, 0 beyond.
  void (*pack_rows)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out);
  /// out[tile][k][8] = dy[k][row] of `rows` rows; `tile_stride` floats between tiles.
  void (*pack_left)(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out,
                    ptrdiff_t tile_stride);
  void (*widen)(const uint16_t* x, float* y, size_t n);
  void (*narrow)(const float* x, uint16_t* y, size_t n);
};

const GemmTable& gemm_table();

}  // namespace verlc::kernels
