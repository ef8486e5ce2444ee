// Inside of the vocabulary kernels: what is done to one row of a chunk of logits, per target.
#pragma once

#include <cstdint>

namespace verlc::kernels {

/// Running log-sum-exp of a row: sum of exp(x - max), and that sum weighted by (x - max) for the entropy.
struct SoftmaxSums {
  float max;
  double sum;
  double weighted;
};

/// Start of a row: no logit seen yet.
SoftmaxSums no_logits();
/// Continues `sums` by one chunk of logits; x = logit * inv_temperature.
void add_chunk(SoftmaxSums& sums, const float* logits, int64_t count, float inv_temperature,
               bool want_weighted);
float log_sum_exp(const SoftmaxSums& sums);
/// -sum p log p.
float entropy_of(const SoftmaxSums& sums);

/// What turns a row of logits into d loss / d logits.
struct LogitGradient {
  float inv_temperature, lse, d_logp, d_entropy, entropy;
  int64_t target;  ///< column within the chunk, or outside of [0, count)
};
/// In place: logits -> (d_logp (onehot - p) - d_entropy p (logp + H)) inv_temperature.
void logits_to_gradient(float* logits, int64_t count, const LogitGradient& row);

}  // namespace verlc::kernels
