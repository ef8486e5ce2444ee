#include <algorithm>

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

struct PackedProduct {
  const float* x;
  const float* bias;
  float* c;
  int64_t n, k;
  bool accumulate;
};

template <typename T, typename Kernel>
void run_block(const PackedProduct& product, const T* packed, const Kernel& kernel, Range rows,
               Range panels) {
  const int64_t k = product.k;
  const int64_t step = rows_per_block(k);
  for (int64_t i = rows.begin; i < rows.end; i += step) {
    const int64_t count = std::min(step, rows.end - i);
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const int64_t columns = std::min(kPanel, product.n - p * kPanel);
      float* c = product.c + i * product.n + p * kPanel;
      const int64_t depth = count <= kTileRows ? std::max<int64_t>(k, 1) : kDepth;
      for (int64_t k0 = 0; k0 < std::max<int64_t>(k, 1); k0 += depth) {
        const LeftRows left{product.x + i * k + k0, k, 1, kTileRows * k};
        kernel(left, count, packed + (p * k + k0) * kPanel, std::min(depth, k - k0),
               PanelOut{c, product.n, columns, product.accumulate || k0 > 0});
      }
      if (product.bias != nullptr) add_bias(c, count, product.n, columns, product.bias + p * kPanel);
    }
  }
}

template <typename T, typename Kernel>
void run(Executor& threads, const PackedProduct& product, const T* packed, int64_t m, const Kernel& kernel) {
  const int64_t panels = (product.n + kPanel - 1) / kPanel;
  const int64_t tiles = (m + kTileRows - 1) / kTileRows;
  const int team = threads.threads();
  const int tasks = team == 1 || tiles * panels < 16 * team ? team : team * kTasksPerThread;
  const Grid grid = split_grid(tiles, panels, tasks);
  threads.for_each(grid.rows * grid.columns, [&](int task) {
    run_block(product, packed, kernel, part_of(m, kTileRows, grid.rows, task / grid.columns),
              part_of(panels, 1, grid.columns, task % grid.columns));
  });
}

template <typename T, typename Store>
void pack(Executor& threads, const float* w, int64_t n, int64_t k, T* packed, Store store) {
  const int64_t panels = (n + kPanel - 1) / kPanel;
  for_ranges(threads, panels, 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t columns = std::min(kPanel, n - p * kPanel);
      store(w + p * kPanel * k, columns, packed + p * kPanel * k);
    }
  });
}

}  // namespace

void pack_weight(Executor& threads, const float* w, int64_t n, int64_t k, float* packed) {
  const GemmTable& table = gemm_table();
  pack(threads, w, n, k, packed, [&](const float* rows, int64_t columns, float* out) {
    table.pack_transposed(rows, k, columns, k, out);
  });
}

void pack_weight_bf16(Executor& threads, const float* w, int64_t n, int64_t k, uint16_t* packed) {
  const GemmTable& table = gemm_table();
  pack(threads, w, n, k, packed, [&](const float* rows, int64_t columns, uint16_t* out) {
    constexpr int64_t kStep = 64;
    alignas(64) float buffer[kStep * kPanel];
    for (int64_t k0 = 0; k0 < k; k0 += kStep) {
      const int64_t depth = std::min(kStep, k - k0);
      table.pack_transposed(rows + k0, k, columns, depth, buffer);
      table.narrow(buffer, out + k0 * kPanel, static_cast<size_t>(depth * kPanel));
    }
  });
}

void gemm_packed(Executor& threads, const float* x, const float* packed, const float* bias, float* c,
                 int64_t m, int64_t n, int64_t k, bool accumulate) {
  const GemmTable& table = gemm_table();
  run(threads, PackedProduct{x, bias, c, n, k, accumulate}, packed, m,
      [&](LeftRows a, int64_t rows, const float* panel, int64_t depth, PanelOut out) {
        // The first rows bring the panel in; the others find it in the cache.
        const int64_t first = std::min(rows, kTileRows);
        table.panel_stream(a, first, panel, depth, out);
        if (rows == first) return;
        a.p += a.tile;
        out.c += kTileRows * out.row;
        table.panel(a, rows - first, panel, depth, out);
      });
}

void gemm_packed_bf16(Executor& threads, const float* x, const uint16_t* packed, const float* bias, float* c,
                      int64_t m, int64_t n, int64_t k, bool accumulate) {
  const GemmTable& table = gemm_table();
  run(threads, PackedProduct{x, bias, c, n, k, accumulate}, packed, m,
      [&](LeftRows a, int64_t rows, const uint16_t* panel, int64_t depth, PanelOut out) {
        if (rows <= kTileRows) return table.panel_bf16(a, rows, panel, depth, out);
        alignas(64) float wide[kDepth * kPanel];  // widened once for all rows
        table.widen(panel, wide, static_cast<size_t>(depth * kPanel));
        table.panel(a, rows, wide, depth, out);
      });
}

}  // namespace verlc::kernels
