#include <algorithm>

#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/gemm_table.hpp"
#include "core/kernels/cpu/split.hpp"

namespace verlc::kernels {
namespace {

/// Rows of dy packed at a time by gemm_tn; 512 KiB with kDepth steps.
constexpr int64_t kLeftRows = 256;
constexpr int64_t kPanelFloats = kDepth * kPanel;
/// Floats between two packed tiles: the odd line keeps them out of each other's cache sets.
constexpr int64_t tile_stride(int64_t depth) {
  return kTileRows * depth + 16;
}
constexpr int64_t kTaskFloats = kPanelFloats + kLeftRows / kTileRows * tile_stride(kDepth);
/// Rows that share one packing of a panel in gemm_nt and gemm_nn.
constexpr int64_t kRightRows = 1024;

int tasks_for(const Executor& threads) {
  return threads.threads() == 1 ? 1 : threads.threads() * 2;
}

/// gemm_nt and gemm_nn differ only in how a panel of the weight is read.
template <typename Pack>
void right_packed(Executor& threads, const float* x, float* c, int64_t m, int64_t n, int64_t k,
                  const float* bias, bool accumulate, float* scratch, Pack pack) {
  const GemmTable& table = gemm_table();
  const int64_t panels = (n + kPanel - 1) / kPanel;
  const Grid grid = split_grid((m + kTileRows - 1) / kTileRows, panels, tasks_for(threads));
  threads.for_each(grid.rows * grid.columns, [&](int task) {
    float* panel = scratch + task * kTaskFloats;
    const Range rows = part_of(m, kTileRows, grid.rows, task / grid.columns);
    const Range mine = part_of(panels, 1, grid.columns, task % grid.columns);
    for (int64_t i = rows.begin; i < rows.end; i += kRightRows) {
      const int64_t count = std::min(kRightRows, rows.end - i);
      for (int64_t k0 = 0; k0 < std::max<int64_t>(k, 1); k0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - k0);
        for (int64_t p = mine.begin; p < mine.end; ++p) {
          const int64_t columns = std::min(kPanel, n - p * kPanel);
          pack(table, p * kPanel, k0, columns, depth, panel);
          float* out = c + i * n + p * kPanel;
          table.panel(LeftRows{x + i * k + k0, k, 1, kTileRows * k}, count, panel, depth,
                      PanelOut{out, n, columns, accumulate || k0 > 0});
          if (bias == nullptr || k0 + depth < k) continue;
          for (int64_t r = 0; r < count; ++r) {
            for (int64_t j = 0; j < columns; ++j) out[r * n + j] += bias[p * kPanel + j];
          }
        }
      }
    }
  });
}

struct LeftTask {
  const float* dy;
  const float* x;
  float* dw;
  int64_t m, n, k;
  bool accumulate;
};

/// Packs and multiplies blocks of one task. T: float, or uint32_t for pairs of tokens.
template <typename T>
struct LeftKernel;

template <>
struct LeftKernel<float> {
  const GemmTable& table;
  bool rounded;
  static int64_t words(int64_t depth) { return depth; }
  void pack_left(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out) const {
    (rounded ? table.pack_left_rounded : table.pack_left)(dy, stride, rows, depth, out, tile_stride(depth));
  }
  void pack_right(const float* x, ptrdiff_t stride, int64_t columns, int64_t depth, float* out) const {
    (rounded ? table.pack_rows_rounded : table.pack_rows)(x, stride, columns, depth, out);
  }
  void multiply(const float* left, int64_t rows, const float* panel, int64_t depth, PanelOut out) const {
    table.panel(LeftRows{left, 1, kTileRows, tile_stride(depth)}, rows, panel, depth, out);
  }
};

template <>
struct LeftKernel<uint32_t> {
  const GemmTable& table;
  DotPanel dot;
  static int64_t words(int64_t depth) { return (depth + 1) / 2; }
  void pack_left(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, uint32_t* out) const {
    table.pack_left_pairs(dy, stride, rows, depth, out, tile_stride(words(depth)));
  }
  void pack_right(const float* x, ptrdiff_t stride, int64_t columns, int64_t depth, uint32_t* out) const {
    table.pack_row_pairs(x, stride, columns, depth, out);
  }
  void multiply(const uint32_t* left, int64_t rows, const uint32_t* panel, int64_t depth,
                PanelOut out) const {
    dot(LeftPairs{left, 1, kTileRows, tile_stride(words(depth))}, rows, panel, words(depth), out);
  }
};

template <typename T>
void left_packed_task(const LeftKernel<T>& kernel, const LeftTask& t, Range rows, Range panels,
                      float* scratch) {
  T* panel = reinterpret_cast<T*>(scratch);
  T* left = reinterpret_cast<T*>(scratch + kPanelFloats);
  for (int64_t m0 = 0; m0 < std::max<int64_t>(t.m, 1); m0 += kDepth) {
    const int64_t depth = std::min(kDepth, t.m - m0);
    for (int64_t i = rows.begin; i < rows.end; i += kLeftRows) {
      const int64_t count = std::min(kLeftRows, rows.end - i);
      kernel.pack_left(t.dy + m0 * t.n + i, t.n, count, depth, left);
      for (int64_t p = panels.begin; p < panels.end; ++p) {
        const int64_t columns = std::min(kPanel, t.k - p * kPanel);
        kernel.pack_right(t.x + m0 * t.k + p * kPanel, t.k, columns, depth, panel);
        kernel.multiply(left, count, panel, depth,
                        PanelOut{t.dw + i * t.k + p * kPanel, t.k, columns, t.accumulate || m0 > 0});
      }
    }
  }
}

template <typename T>
void left_packed(Executor& threads, const LeftKernel<T>& kernel, const LeftTask& t, float* scratch) {
  const int64_t panels = (t.k + kPanel - 1) / kPanel;
  const Grid grid = split_grid((t.n + kTileRows - 1) / kTileRows, panels, tasks_for(threads));
  threads.for_each(grid.rows * grid.columns, [&](int task) {
    left_packed_task(kernel, t, part_of(t.n, kTileRows, grid.rows, task / grid.columns),
                     part_of(panels, 1, grid.columns, task % grid.columns), scratch + task * kTaskFloats);
  });
}

}  // namespace

size_t gemm_scratch_floats(int threads) {
  return static_cast<size_t>(threads) * 2 * static_cast<size_t>(kTaskFloats);
}

void gemm_nt(Executor& threads, const float* x, const float* w, const float* bias, float* c, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch) {
  right_packed(threads, x, c, m, n, k, bias, accumulate, scratch,
               [&](const GemmTable& table, int64_t j, int64_t k0, int64_t columns, int64_t depth,
                   float* out) { table.pack_transposed(w + j * k + k0, k, columns, depth, out); });
}

void gemm_nn(Executor& threads, const float* dy, const float* w, float* dx, int64_t m, int64_t n, int64_t k,
             bool accumulate, float* scratch) {
  right_packed(threads, dy, dx, m, k, n, nullptr, accumulate, scratch,
               [&](const GemmTable& table, int64_t j, int64_t k0, int64_t columns, int64_t depth,
                   float* out) { table.pack_rows(w + k0 * k + j, k, columns, depth, out); });
}

void gemm_tn(Executor& threads, Precision precision, const float* dy, const float* x, float* dw, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch) {
  const GemmTable& table = gemm_table();
  const LeftTask task{dy, x, dw, m, n, k, accumulate};
  const bool narrow = precision == Precision::bf16;
  const DotPanel dot = narrow ? dot_panel() : nullptr;
  if (dot != nullptr) return left_packed(threads, LeftKernel<uint32_t>{table, dot}, task, scratch);
  left_packed(threads, LeftKernel<float>{table, narrow}, task, scratch);
}

}  // namespace verlc::kernels
