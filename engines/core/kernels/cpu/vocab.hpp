// The head of the model: log-prob and entropy over the vocabulary without a [T, V] tensor. Logits are made in
// chunks of kVocabChunk columns, each reduced into running (max, sum, weighted sum) per row and dropped.
// row_log_sum_exp does the same arithmetic over a finished row of logits, so a sampler and the trainer agree
// bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/executor.hpp"
#include "core/kernels/cpu/gemm.hpp"

namespace verlc::kernels {

/// Columns per chunk: a multiple of kPanel, fixed, since it decides the order of the reduction.
inline constexpr int64_t kVocabChunk = 960;

/// The head weight [V, H]: row-major, or packed, or both. Panels are used where there are any.
struct HeadWeight {
  const float* rows = nullptr;
  PackedMatrix forward = {};   ///< pack_weight: logits = h W^T
  PackedMatrix backward = {};  ///< pack_weight_transposed: dh = dlogits W
};

/// Scratch for the two calls below, in floats.
size_t vocab_scratch_floats(int threads, int64_t num_rows, int64_t hidden,
                            Precision precision = Precision::f32);

/// logp[r] = log softmax(h[r] W^T * inv_temperature[r])[target[r]]; entropy likewise (null = not wanted).
/// h: [R, H]; inv_temperature: [R]; targets: [R] in [0, V); lse: [R], kept for the backward. logp, entropy:
/// [R].
void vocab_logprob_forward(Executor& threads, const float* h, HeadWeight head, const int32_t* targets,
                           const float* inv_temperature, int64_t num_rows, int64_t hidden, int64_t vocab,
                           float* logp, float* entropy, float* lse, float* scratch);

/// Recomputes the logits chunk by chunk. d_entropy may be null (then entropy may be null too).
/// dh [R, H] is written; d_head [V, H] is added to (null = frozen head).
void vocab_logprob_backward(Executor& threads, const float* h, HeadWeight head, const int32_t* targets,
                            const float* inv_temperature, const float* entropy, const float* lse,
                            const float* d_logp, const float* d_entropy, int64_t num_rows, int64_t hidden,
                            int64_t vocab, float* dh, float* d_head, float* scratch);

/// The log-prob of a token from its logit and the row's lse: the one expression, in vocab_logprob_forward and
/// in a sampler.
inline float row_logprob(float logit, float inv_temperature, float lse) {
  return logit * inv_temperature - lse;
}

/// log sum_j exp(logits[j] * inv_temperature), the same bits as the lse of vocab_logprob_forward.
float row_log_sum_exp(const float* logits, int64_t vocab, float inv_temperature);

}  // namespace verlc::kernels
