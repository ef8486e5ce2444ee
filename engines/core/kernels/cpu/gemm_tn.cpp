// dw = dy^T x: the one product of training both of whose operands change from call to call. Some tokens of x
// are packed into panels by the whole team, then each task packs rows of dy^T and multiplies.
#include <algorithm>

#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/gemm_table.hpp"
#include "core/kernels/cpu/split.hpp"

namespace verlc::kernels {
namespace {

/// Rows of dy^T packed at a time; 256 KiB with kDepth steps.
constexpr int64_t kLeftRows = 256;
/// Floats between two packed tiles: the odd line keeps them out of each other's cache sets.
constexpr int64_t tile_stride(int64_t depth) {
  return kTileRows * depth + 16;
}
constexpr int64_t kLeftFloats = kLeftRows / kTileRows * tile_stride(kDepth);
/// Panels of x packed at a time, for all threads; 4 MiB.
constexpr int64_t kBlockFloats = kDepth * kPanel;
constexpr int64_t kRightBlocks = 85;

struct Call {
  const float* dy;
  const float* x;
  float* dw;
  int64_t m, n, k;
  bool accumulate;
};

/// Packs and multiplies blocks. T: float, or uint32_t for pairs of tokens.
template <typename T>
struct Kernel;

template <>
struct Kernel<float> {
  const GemmTable& table;
  bool rounded;
  static int64_t words(int64_t depth) { return depth; }
  void pack_left(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, float* out) const {
    (rounded ? table.pack_left_rounded : table.pack_left)(dy, stride, rows, depth, out, tile_stride(depth));
  }
  void pack_right(const float* x, ptrdiff_t stride, int64_t columns, int64_t depth, float* out) const {
    (rounded ? table.pack_rows_rounded : table.pack_rows)(x, stride, columns, depth, out);
  }
  void multiply(const float* left, int64_t rows, const float* panel, int64_t depth, PanelOut out,
                Ahead next) const {
    table.panel(LeftRows{left, 1, kTileRows, tile_stride(depth)}, rows, panel, depth, out, next);
  }
};

template <>
struct Kernel<uint32_t> {
  const GemmTable& table;
  DotPanel dot;
  static int64_t words(int64_t depth) { return (depth + 1) / 2; }
  void pack_left(const float* dy, ptrdiff_t stride, int64_t rows, int64_t depth, uint32_t* out) const {
    table.pack_left_pairs(dy, stride, rows, depth, out, tile_stride(words(depth)));
  }
  void pack_right(const float* x, ptrdiff_t stride, int64_t columns, int64_t depth, uint32_t* out) const {
    table.pack_row_pairs(x, stride, columns, depth, out);
  }
  void multiply(const uint32_t* left, int64_t rows, const uint32_t* panel, int64_t depth, PanelOut out,
                Ahead next) const {
    dot(LeftPairs{left, 1, kTileRows, tile_stride(words(depth))}, rows, panel, words(depth), out, next);
  }
};

/// Panels [panels.begin, panels.end) of tokens [tokens.begin, tokens.end) of x, packed: blocks of kDepth
/// tokens, each a row of panels.
template <typename T>
class RightBlocks {
 public:
  RightBlocks(const Kernel<T>& kernel, const Call& call, Range panels, Range tokens, T* out)
      : kernel_(kernel), call_(call), panels_(panels), tokens_(tokens), out_(out) {}

  void pack(Executor& threads) const {
    const int64_t across = panels_.end - panels_.begin;
    const int64_t down = (tokens_.end - tokens_.begin + kDepth - 1) / kDepth;
    for_ranges(threads, across * down, 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack_one(tokens_.begin + i / across * kDepth, panels_.begin + i % across);
    });
  }

  /// The block of the tokens from `token` on, which is a multiple of kDepth after the first.
  [[nodiscard]] T* block(int64_t token, int64_t panel) const {
    const int64_t across = panels_.end - panels_.begin;
    return out_ + ((token - tokens_.begin) / kDepth * across + panel - panels_.begin) * kBlockFloats;
  }
  [[nodiscard]] Range tokens() const { return tokens_; }
  [[nodiscard]] Range panels() const { return panels_; }

 private:
  void pack_one(int64_t token, int64_t panel) const {
    const int64_t k = call_.k;
    kernel_.pack_right(call_.x + token * k + panel * kPanel, k, std::min(kPanel, k - panel * kPanel),
                       std::min(kDepth, tokens_.end - token), block(token, panel));
  }

  const Kernel<T>& kernel_;
  const Call& call_;
  Range panels_, tokens_;
  T* out_;
};

/// Adds the packed tokens to rows [rows.begin, rows.end) of dw, in the columns of `panels`.
template <typename T>
void multiply(const Kernel<T>& kernel, const Call& call, const RightBlocks<T>& right, Range rows,
              Range panels, T* left) {
  const Range tokens = right.tokens();
  for (int64_t m0 = tokens.begin; m0 < tokens.end || m0 == 0; m0 += kDepth) {
    const int64_t depth = std::min(kDepth, tokens.end - m0);
    for (int64_t i = rows.begin; i < rows.end; i += kLeftRows) {
      const int64_t count = std::min(kLeftRows, rows.end - i);
      kernel.pack_left(call.dy + m0 * call.n + i, call.n, count, depth, left);
      for (int64_t p = panels.begin; p < panels.end; ++p) {
        const int64_t columns = std::min(kPanel, call.k - p * kPanel);
        kernel.multiply(
            left, count, right.block(m0, p), depth,
            PanelOut{call.dw + i * call.k + p * kPanel, call.k, columns, call.accumulate || m0 > 0},
            {right.block(m0, p + 1), kBlockFloats * int64_t{sizeof(T)}});
      }
    }
  }
}

template <typename T>
void run(Executor& threads, const Kernel<T>& kernel, const Call& call, float* scratch) {
  T* const packed = reinterpret_cast<T*>(scratch);
  T* const left = reinterpret_cast<T*>(scratch + kRightBlocks * kBlockFloats);
  const int64_t panels = (call.k + kPanel - 1) / kPanel;
  const int64_t across = std::min(panels, kRightBlocks);
  const int64_t tokens = kRightBlocks / across * kDepth;
  for (int64_t p = 0; p < panels; p += across) {
    for (int64_t m0 = 0; m0 < call.m || m0 == 0; m0 += tokens) {
      const RightBlocks<T> right(kernel, call, {p, std::min(panels, p + across)},
                                 {m0, std::min(call.m, m0 + tokens)}, packed);
      right.pack(threads);
      const Range mine = right.panels();
      const Grid grid = split_grid(call.n, kTileRows, (mine.end - mine.begin) * kPanel, kPanel,
                                   threads.threads(), {kPackCost, 0, kLeftRows});
      for_each_slot(threads, grid.rows * grid.columns, [&](int slot, int task) {
        const Range part = part_of(mine.end - mine.begin, 1, grid.columns, task % grid.columns);
        multiply(kernel, call, right, part_of(call.n, kTileRows, grid.rows, task / grid.columns),
                 {mine.begin + part.begin, mine.begin + part.end}, left + slot * kLeftFloats);
      });
    }
  }
}

}  // namespace

size_t gemm_tn_scratch_floats(int threads) {
  return static_cast<size_t>(kRightBlocks * kBlockFloats + threads * kLeftFloats);
}

void gemm_tn(Executor& threads, Precision precision, const float* dy, const float* x, float* dw, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch) {
  const GemmTable& table = gemm_table();
  const Call call{dy, x, dw, m, n, k, accumulate};
  const bool narrow = precision == Precision::bf16;
  const DotPanel dot = narrow ? dot_panel() : nullptr;
  if (dot != nullptr) return run(threads, Kernel<uint32_t>{table, dot}, call, scratch);
  run(threads, Kernel<float>{table, narrow}, call, scratch);
}

}  // namespace verlc::kernels
