// Matrix products in float32 with one k order: every output element is the sum, in order, of chains of fused
// multiply-adds over 128 steps of k each, from k = 0 (added to C when accumulating), whatever M, N, the
// blocking, the thread count or the entry point. Rows are therefore bit-identical for every M, between the
// packed and the unpacked forms, and between prefill, decode and training. (Chains of one fixed length and
// not of length K: the rounding error of a long chain is several times that of a blocked sum.)
//
// All matrices are row-major and dense. Work is split over M and N only. `scratch` is caller's memory of at
// least gemm_scratch_floats() floats, 64-byte aligned, free to use during the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/executor.hpp"

namespace verlc::kernels {

/// Outputs per packed panel; a packed matrix holds ceil(N / kPanel) panels of [K][kPanel], zero-filled at the
/// edge.
inline constexpr int64_t kPanel = 48;

/// Elements of the packed form of a matrix with n outputs and reduction length k.
constexpr size_t packed_elements(int64_t n, int64_t k) {
  return static_cast<size_t>((n + kPanel - 1) / kPanel * kPanel * k);
}

/// Scratch of the unpacked products below for an executor of `threads` threads and reduction length k.
size_t gemm_scratch_floats(int threads, int64_t k);

/// Packs w [N, K] for y = x w^T (outputs n, reduction k). `packed`: packed_elements(n, k), 64-byte aligned.
void pack_weight(Executor& threads, const float* w, int64_t n, int64_t k, float* packed);
/// The same with the panels stored as bfloat16 (round to nearest even); products widen back to float32,
/// exactly.
void pack_weight_bf16(Executor& threads, const float* w, int64_t n, int64_t k, uint16_t* packed);

/// c [M, N] = x [M, K] * packed^T, plus bias [N] when not null (added after the chain). accumulate: c is
/// continued.
void gemm_packed(Executor& threads, const float* x, const float* packed, const float* bias, float* c,
                 int64_t m, int64_t n, int64_t k, bool accumulate);
void gemm_packed_bf16(Executor& threads, const float* x, const uint16_t* packed, const float* bias, float* c,
                      int64_t m, int64_t n, int64_t k, bool accumulate);

/// c [M, N] (+)= x [M, K] * w^T with w [N, K], packing panels on the way; equal to gemm_packed bit for bit.
void gemm_nt(Executor& threads, const float* x, const float* w, const float* bias, float* c, int64_t m,
             int64_t n, int64_t k, bool accumulate, float* scratch);
/// dx [M, K] (+)= dy [M, N] * w [N, K]; reduction over n in order.
void gemm_nn(Executor& threads, const float* dy, const float* w, float* dx, int64_t m, int64_t n, int64_t k,
             bool accumulate, float* scratch);
/// dw [N, K] (+)= dy^T [N, M] * x [M, K]; reduction over the M tokens in order.
void gemm_tn(Executor& threads, const float* dy, const float* x, float* dw, int64_t m, int64_t n, int64_t k,
             bool accumulate, float* scratch);

}  // namespace verlc::kernels
