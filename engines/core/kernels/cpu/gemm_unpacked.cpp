#include <algorithm>

#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/gemm_table.hpp"
#include "core/kernels/cpu/split.hpp"

namespace verlc::kernels {
namespace {

constexpr int64_t kPanelFloats = kDepth * kPanel;
/// Rows that share one packing of a panel.
constexpr int64_t kRightRows = 1024;

/// gemm_nt and gemm_nn differ only in how a panel of the weight is read.
template <typename Pack>
void right_packed(Executor& threads, const float* x, float* c, int64_t m, int64_t n, int64_t k,
                  const float* bias, bool accumulate, float* scratch, Pack pack) {
  const GemmTable& table = gemm_table();
  const Grid grid = split_grid(m, kTileRows, n, kPanel, threads.threads(), {0, kPackCost, kRightRows});
  const int64_t panels = (n + kPanel - 1) / kPanel;
  for_each_slot(threads, grid.rows * grid.columns, [&](int slot, int task) {
    float* panel = scratch + slot * kPanelFloats;
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
                      PanelOut{out, n, columns, accumulate || k0 > 0}, {});
          if (bias == nullptr || k0 + depth < k) continue;
          for (int64_t r = 0; r < count; ++r) {
            for (int64_t j = 0; j < columns; ++j) out[r * n + j] += bias[p * kPanel + j];
          }
        }
      }
    }
  });
}

}  // namespace

size_t gemm_scratch_floats(int threads) {
  return static_cast<size_t>(threads) * static_cast<size_t>(kPanelFloats);
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

}  // namespace verlc::kernels
