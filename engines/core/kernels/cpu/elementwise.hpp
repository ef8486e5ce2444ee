// Elementwise loops: results do not depend on how the range is split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/executor.hpp"

namespace verlc::kernels {

/// y = a + b, over n floats; y may alias a or b.
void add(Executor& threads, const float* a, const float* b, float* y, size_t n);
/// y = a * s; y may alias a.
void scale(Executor& threads, const float* a, float s, float* y, size_t n);
/// SwiGLU (Shazeer 2020): y = silu(gate) * up.
void swiglu_forward(Executor& threads, const float* gate, const float* up, float* y, size_t n);
void swiglu_backward(Executor& threads, const float* gate, const float* up, const float* dy, float* d_gate,
                     float* d_up, size_t n);

/// Rotary embedding in the half-split layout of Hugging Face (first half paired with second half of
/// head_dim) of x [T, num_heads, head_dim], into y, which may be x. cos, sin: [num_positions, head_dim / 2];
/// positions: [T], each < num_positions. inverse = rotate backwards, which is the transpose and so the
/// gradient.
void rotary(Executor& threads, const float* x, float* y, const float* cos, const float* sin,
            const int32_t* positions, int64_t num_tokens, int64_t num_heads, int64_t head_dim, bool inverse);

/// y [T, H] = table [V, H] rows of ids [T].
void embedding_forward(Executor& threads, const float* table, const int32_t* ids, int64_t num_tokens,
                       int64_t hidden, float* y);
/// d_table [V, H] += dy rows, tokens in order whatever the thread count.
void embedding_backward(Executor& threads, const int32_t* ids, const float* dy, int64_t num_tokens,
                        int64_t hidden, float* d_table);
/// y[j] += sum over rows of x [R, D], rows in order (bias gradient).
void add_column_sums(Executor& threads, const float* x, int64_t num_rows, int64_t dim, float* y);

/// Sum of squares in float64, in one fixed order (blocks of 4096 elements, then block by block).
double sum_of_squares(Executor& threads, const float* x, size_t n);

/// bfloat16 is the upper half of a float32; narrowing rounds to nearest even, NaN stays NaN.
void widen_bf16(Executor& threads, const uint16_t* x, float* y, size_t n);
void narrow_bf16(Executor& threads, const float* x, uint16_t* y, size_t n);
void fill_zero(Executor& threads, float* x, size_t n);
/// x rounded to bfloat16 in place.
void round_to_bf16(Executor& threads, float* x, size_t n);

/// AdamW (Loshchilov and Hutter 2019) on n float32 parameters, decoupled weight decay as torch.optim.AdamW:
/// `step` counts from 1; gradients are multiplied by grad_scale first (clipping).
struct AdamWStep {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  int64_t step = 1;
  float grad_scale = 1;
};
void adamw(Executor& threads, const AdamWStep& options, float* param, const float* grad, float* m, float* v,
           size_t n);

}  // namespace verlc::kernels
