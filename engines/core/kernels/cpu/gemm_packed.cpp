#include <algorithm>
#include <bit>

#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/gemm_table.hpp"
#include "core/kernels/cpu/split.hpp"

namespace verlc::kernels {
namespace {

/// Rows per pass over the panels: their slice of x stays in the second-level cache.
int64_t rows_per_block(int64_t k) {
  constexpr int64_t kBlockFloats = 256 * 1024;
  return std::max<int64_t>(64, kBlockFloats / std::max<int64_t>(k, 1) / kTileRows * kTileRows);
}

void add_bias(float* c, int64_t rows, int64_t stride, int64_t columns, const float* bias) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) c[i * stride + j] += bias[j];
  }
}

struct Product {
  const float* x;  ///< [M, K] floats, or what round_rows makes of them
  PackedMatrix packed;
  const float* bias;
  float* c;
  int64_t n, k;
  bool accumulate;
};

/// Panels of one task, and the first panel of the task that its thread is likely to take next.
struct Panels {
  int64_t begin, end, next;
};

/// Rows [first, first + rows) against steps [k0, k0 + depth) of panel `panel`.
struct Piece {
  int64_t first, rows, panel, k0, depth;
};

class PieceKernel {
 public:
  explicit PieceKernel(const Product& product)
      : product_(product),
        table_(gemm_table()),
        dot_(product.packed.precision == Precision::bf16 ? dot_panel() : nullptr) {}

  void run(const Piece& piece, const Panels& panels) const {
    const int64_t columns = std::min(kPanel, product_.n - piece.panel * kPanel);
    const PanelOut out{product_.c + piece.first * product_.n + piece.panel * kPanel, product_.n, columns,
                       product_.accumulate || piece.k0 > 0};
    const void* panel = product_.packed.from(piece.panel, piece.k0).panels;
    const Ahead next = after(piece, panels);
    if (product_.packed.precision == Precision::f32)
      return table_.panel(left(piece), piece.rows, static_cast<const float*>(panel), piece.depth, out, next);
    if (dot_ != nullptr) return dot(piece, static_cast<const uint32_t*>(panel), out, next);
    widening(piece, static_cast<const uint32_t*>(panel), out, next);
  }

 private:
  [[nodiscard]] LeftRows left(const Piece& piece) const {
    const int64_t k = product_.k;
    return {product_.x + piece.first * k + piece.k0, k, 1, kTileRows * k};
  }

  /// As many steps as the piece has, kDepth steps further on.
  [[nodiscard]] Ahead after(const Piece& piece, const Panels& panels) const {
    const PackedMatrix& packed = product_.packed;
    int64_t step = piece.k0 + kDepth;
    int64_t panel = piece.panel;
    for (; step >= product_.k && panel < panels.end; ++panel) step -= product_.k;
    if (panel >= panels.end) panel = panels.next;
    return {packed.from(panel, std::max<int64_t>(0, step) / 2 * 2).panels,
            panel_words(packed.precision, piece.depth) * int64_t{sizeof(uint32_t)}};
  }

  void widening(const Piece& piece, const uint32_t* panel, PanelOut out, Ahead next) const {
    if (piece.rows <= kTileRows)
      return table_.panel_widening(left(piece), piece.rows, panel, piece.depth, out);
    alignas(64) float wide[kDepth * kPanel];  // widened once for all rows
    table_.split(panel, piece.depth, wide);
    table_.panel(left(piece), piece.rows, wide, piece.depth, out, next);
  }

  void dot(const Piece& piece, const uint32_t* panel, PanelOut out, Ahead next) const {
    const int64_t pairs = (product_.k + 1) / 2;
    const LeftPairs rows{reinterpret_cast<const uint32_t*>(product_.x) + piece.first * pairs + piece.k0 / 2,
                         pairs, 1, kTileRows * pairs};
    dot_(rows, piece.rows, panel, (piece.depth + 1) / 2, out, next);
  }

  const Product& product_;
  const GemmTable& table_;
  DotPanel dot_;
};

void run_block(const Product& product, const PieceKernel& kernel, Range rows, Panels panels) {
  const int64_t k = std::max<int64_t>(product.k, 1);
  const int64_t step = rows_per_block(k);
  for (int64_t i = rows.begin; i < rows.end; i += step) {
    const int64_t count = std::min(step, rows.end - i);
    const int64_t depth = count <= kTileRows ? k : kDepth;
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      for (int64_t k0 = 0; k0 < k; k0 += depth)
        kernel.run({i, count, p, k0, std::min(depth, product.k - k0)}, panels);
      if (product.bias == nullptr) continue;
      const int64_t columns = std::min(kPanel, product.n - p * kPanel);
      add_bias(product.c + i * product.n + p * kPanel, count, product.n, columns, product.bias + p * kPanel);
    }
  }
}

void run(Executor& threads, const Product& product, int64_t m) {
  const PieceKernel kernel(product);
  const int64_t panels = (product.n + kPanel - 1) / kPanel;
  const int team = threads.threads();
  // A weight comes from memory, a row from a cache, where the other thread's rows are too.
  const Grid grid = split_grid(m, kTileRows, product.n, kPanel, team, {4, 25, rows_per_block(product.k)});
  threads.for_each(grid.rows * grid.columns, [&](int task) {
    const int column = task % grid.columns;
    const Range mine = part_of(panels, 1, grid.columns, column);
    const int64_t next = part_of(panels, 1, grid.columns, std::min(column + team, grid.columns - 1)).begin;
    run_block(product, kernel, part_of(m, kTileRows, grid.rows, task / grid.columns),
              {mine.begin, mine.end, next});
  });
}

/// Packs panel by panel: body(panel, columns, out).
template <typename Body>
void for_panels(Executor& threads, Precision precision, int64_t n, int64_t k, void* packed, Body body) {
  const int64_t panels = (n + kPanel - 1) / kPanel;
  for_ranges(threads, panels, 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      body(p * kPanel, std::min(kPanel, n - p * kPanel),
           static_cast<uint32_t*>(packed) + p * panel_words(precision, k));
  });
}

}  // namespace

PackedMatrix PackedMatrix::from(int64_t panel, int64_t step) const {
  const int64_t words =
      panel * panel_words(precision, depth) + kPanel * (is_narrow(precision) ? step / 2 : step);
  return {static_cast<const uint32_t*>(panels) + words, precision, depth};
}

void pack_weight(Executor& threads, Precision precision, const float* w, int64_t n, int64_t k, void* packed) {
  const GemmTable& table = gemm_table();
  for_panels(threads, precision, n, k, packed, [&](int64_t first, int64_t columns, uint32_t* out) {
    const float* rows = w + first * k;
    if (!is_narrow(precision))
      return table.pack_transposed(rows, k, columns, k, reinterpret_cast<float*>(out));
    constexpr int64_t kStep = 64;
    alignas(64) float buffer[kStep * kPanel];
    for (int64_t k0 = 0; k0 < k; k0 += kStep) {
      const int64_t depth = std::min(kStep, k - k0);
      table.pack_transposed(rows + k0, k, columns, depth, buffer);
      table.pack_row_pairs(buffer, kPanel, kPanel, depth, out + k0 / 2 * kPanel);
    }
  });
}

void pack_weight_transposed(Executor& threads, Precision precision, const float* w, int64_t n, int64_t k,
                            void* packed) {
  const GemmTable& table = gemm_table();
  for_panels(threads, precision, k, n, packed, [&](int64_t first, int64_t columns, uint32_t* out) {
    if (is_narrow(precision)) return table.pack_row_pairs(w + first, k, columns, n, out);
    table.pack_rows(w + first, k, columns, n, reinterpret_cast<float*>(out));
  });
}

void read_packed_row(const PackedMatrix& packed, int64_t row, int64_t k, float* out) {
  const void* panel = packed.from(row / kPanel, 0).panels;
  const int64_t lane = row % kPanel;
  if (!is_narrow(packed.precision)) {
    for (int64_t i = 0; i < k; ++i) out[i] = static_cast<const float*>(panel)[i * kPanel + lane];
    return;
  }
  const auto* words = static_cast<const uint32_t*>(panel);
  for (int64_t i = 0; i < k; ++i) {
    const uint32_t word = words[i / 2 * kPanel + lane];
    out[i] = std::bit_cast<float>(i % 2 == 0 ? word << 16 : word & 0xFFFF0000U);
  }
}

void round_rows(Executor& threads, const float* x, int64_t m, int64_t k, float* rounded) {
  const GemmTable& table = gemm_table();
  const bool pairs = dot_panel() != nullptr;
  for_ranges(threads, m, 1, 32768 / std::max<int64_t>(k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (pairs)
        table.narrow_row(x + i * k, k, reinterpret_cast<uint32_t*>(rounded) + i * ((k + 1) / 2));
      else
        table.round_row(x + i * k, k, rounded + i * k);
    }
  });
}

void gemm_packed_rounded(Executor& threads, const float* rounded, PackedMatrix packed, const float* bias,
                         float* c, int64_t m, int64_t n, int64_t k, bool accumulate) {
  run(threads, Product{rounded, packed, bias, c, n, k, accumulate}, m);
}

void gemm_packed(Executor& threads, const float* x, PackedMatrix packed, const float* bias, float* c,
                 int64_t m, int64_t n, int64_t k, bool accumulate, float* scratch) {
  if (packed.precision == Precision::bf16) round_rows(threads, x, m, k, scratch);
  const float* operand = packed.precision == Precision::bf16 ? scratch : x;
  gemm_packed_rounded(threads, operand, packed, bias, c, m, n, k, accumulate);
}

}  // namespace verlc::kernels
