// The unnormalised probabilities of a row of logits, with sums of blocks for a search in two steps.
#pragma once

#include <cstdint>

namespace verlc::rollout {

/// Columns of one sum.
inline constexpr int64_t kWeightBlock = 960;

/// Largest logits[i] * inv_temperature of a row; -infinity when all are masked.
float scaled_max(const float* logits, int64_t vocab, float inv_temperature);

/// weights[i] = exp(logits[i] * inv_temperature - max); block_sums[b] = the sum of block b, in one fixed
/// order. weights: [vocab]; block_sums: [ceil(vocab / kWeightBlock)].
void softmax_weights(const float* logits, int64_t vocab, float inv_temperature, float max, float* weights,
                     float* block_sums);

}  // namespace verlc::rollout
