// Matrix products with one k order: every output element is the sum, in order, of chains of fused
// multiply-adds over 128 steps of k each, from k = 0 (added to C when accumulating), whatever M, N, the
// blocking, the thread count or the entry point. Rows are therefore bit-identical for every M, between the
// packed and the unpacked forms, and between prefill, decode and training. (Chains of one fixed length and
// not of length K: the rounding error of a long chain is several times that of a blocked sum.) On a
// CPU target with dot products of bfloat16 pairs, a step of Precision::bf16 takes two elements of k.
//
// All matrices are row-major and dense. Work is split over M and N only. `scratch` is caller's memory,
// 64-byte aligned, free to use during the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/executor.hpp"
#include "core/kernels/cpu/precision.hpp"

namespace verlc::kernels {

/// Outputs per packed panel; a packed matrix holds ceil(N / kPanel) panels, zero-filled at the edge.
inline constexpr int64_t kPanel = 48;

/// A weight packed for products. A panel is [K][kPanel] floats, or for the narrow precisions [ceil(K /
/// 2)][kPanel] words of two bfloat16: step 2i in the low half, 2i + 1 in the high half.
struct PackedMatrix {
  const void* panels = nullptr;
  Precision precision = Precision::f32;
  int64_t depth = 0;  ///< K of the panels

  /// The same panels from panel `panel` and step `step` on; `step` is even.
  [[nodiscard]] PackedMatrix from(int64_t panel, int64_t step) const;
};

/// 4-byte words of a row of panels, and of a whole packed matrix with n outputs and reduction length k.
constexpr int64_t panel_words(Precision precision, int64_t k) {
  return kPanel * (is_narrow(precision) ? (k + 1) / 2 : k);
}
constexpr int64_t packed_words(Precision precision, int64_t n, int64_t k) {
  return (n + kPanel - 1) / kPanel * panel_words(precision, k);
}

/// Packs w [N, K] for y = x w^T (outputs n, reduction k). `packed`: packed_words(precision, n, k) words,
/// 64-byte aligned. bfloat16: round to nearest even.
void pack_weight(Executor& threads, Precision precision, const float* w, int64_t n, int64_t k, void* packed);
/// Packs w [N, K] for dx = dy w (outputs k, reduction n): packed_words(precision, k, n) words.
void pack_weight_transposed(Executor& threads, Precision precision, const float* w, int64_t n, int64_t k,
                            void* packed);

/// Row `row` of the w that pack_weight packed, as k floats.
void read_packed_row(const PackedMatrix& packed, int64_t row, int64_t k, float* out);

/// Scratch of gemm_packed, in floats: 0 unless x must be rounded.
constexpr int64_t gemm_packed_scratch_floats(Precision precision, int64_t m, int64_t k) {
  return precision == Precision::bf16 ? m * k : 0;
}
/// c [M, N] = x [M, K] * packed^T, plus bias [N] when not null (added after the sum). accumulate: c is
/// continued.
void gemm_packed(Executor& threads, const float* x, PackedMatrix packed, const float* bias, float* c,
                 int64_t m, int64_t n, int64_t k, bool accumulate, float* scratch);
/// x [M, K] rounded to bfloat16, in the form that the CPU's products take, once for several products.
/// rounded: M * K floats.
void round_rows(Executor& threads, const float* x, int64_t m, int64_t k, float* rounded);
/// gemm_packed with precision bf16 for an x that round_rows made.
void gemm_packed_rounded(Executor& threads, const float* rounded, PackedMatrix packed, const float* bias,
                         float* c, int64_t m, int64_t n, int64_t k, bool accumulate);

/// Scratch of gemm_nt and gemm_nn, in floats.
size_t gemm_scratch_floats(int threads);
/// c [M, N] (+)= x [M, K] * w^T with w [N, K], packing panels on the way; equal to gemm_packed in f32, bit
/// for bit.
void gemm_nt(Executor& threads, const float* x, const float* w, const float* bias, float* c, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch);
/// dx [M, K] (+)= dy [M, N] * w [N, K]; reduction over n in order.
void gemm_nn(Executor& threads, const float* dy, const float* w, float* dx, int64_t m, int64_t n, int64_t k,
             bool accumulate, float* scratch);
/// Scratch of gemm_tn, in floats.
size_t gemm_tn_scratch_floats(int threads);
/// dw [N, K] (+)= dy^T [N, M] * x [M, K]; reduction over the M tokens in order. bf16 rounds both operands,
/// the other precisions take them as they are.
void gemm_tn(Executor& threads, Precision precision, const float* dy, const float* x, float* dw, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch);

}  // namespace verlc::kernels
