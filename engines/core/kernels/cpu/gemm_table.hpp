// Inside of the matrix products: the per-target functions, and the block sizes they share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/cpu/gemm.hpp"

namespace verlc::kernels {

/// Steps of the reduction per pass over a panel: 48 KiB of panel stay in the second-level cache, and the
/// loads and stores of c weigh 2 %.
inline constexpr int64_t kDepth = 256;
/// Rows per packed tile of the left operand of gemm_tn.
inline constexpr int64_t kTileRows = 8;

/// Rows of the left operand: row i is at p + (i / 8) * tile + (i % 8) * row, step k at + k * step. T is
/// float, or uint32_t: two bfloat16 steps, and then strides and steps count such words.
template <typename T>
struct LeftRowsOf {
  const T* p;
  ptrdiff_t row, step, tile;
};
using LeftRows = LeftRowsOf<float>;
using LeftPairs = LeftRowsOf<uint32_t>;

/// A panel of kPanel columns: c[i][0 .. columns) (+)= sum over `depth` steps; `columns` <= kPanel.
struct PanelOut {
  float* c;
  ptrdiff_t row;
  int64_t columns;
  bool from_c;
};

/// What the next call will read: brought to the second-level cache while this one computes, spread evenly
/// over its steps. Empty: the panel of this call, and what follows, are near already.
struct Ahead {
  const void* p = nullptr;
  int64_t bytes = 0;
};

using DotPanel = void (*)(LeftPairs a, int64_t rows, const uint32_t* panel, int64_t pairs, PanelOut out,
                          Ahead next);

struct GemmTable {
  void (*panel)(LeftRows a, int64_t rows, const float* panel, int64_t depth, PanelOut out, Ahead next);
  /// A panel of pairs against float rows.
  void (*panel_widening)(LeftRows a, int64_t rows, const uint32_t* panel, int64_t depth, PanelOut out);
  /// out[k][j] = w[j][k] for j < columns, 0 beyond; `stride` between rows of w.
  void (*pack_transposed)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out);
  /// out[k][j] = w[k][j] for j < columns, 0 beyond.
  void (*pack_rows)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out);
  /// out[tile][k][8] = dy[k][row] of `rows` rows; `tile_stride` words between tiles.
  void (*pack_left)(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out,
                    ptrdiff_t tile_stride);
  /// The last two with values rounded to bfloat16.
  void (*pack_rows_rounded)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, float* out);
  void (*pack_left_rounded)(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out,
                            ptrdiff_t tile_stride);
  /// And as pairs: [(depth + 1) / 2] words in place of [depth] floats.
  void (*pack_row_pairs)(const float* w, ptrdiff_t stride, int64_t columns, int64_t depth, uint32_t* out);
  void (*pack_left_pairs)(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, uint32_t* out,
                          ptrdiff_t tile_stride);
  /// A row of k floats as (k + 1) / 2 pairs.
  void (*narrow_row)(const float* x, int64_t k, uint32_t* out);
  /// A row of k floats rounded to bfloat16.
  void (*round_row)(const float* x, int64_t k, float* out);
  /// out[2i][j], out[2i + 1][j] = the halves of pairs[i][j], j < kPanel.
  void (*split)(const uint32_t* pairs, int64_t depth, float* out);
};

/// The table of the CPU target in use.
const GemmTable& gemm_table();

/// Panels of pairs against rows of pairs on the CPU's own bfloat16 dot products; null where this build or CPU
/// has none.
DotPanel native_dot_panel();
/// The same when the CPU target in use has them, else null: then rounded floats are multiplied.
DotPanel dot_panel();

}  // namespace verlc::kernels
