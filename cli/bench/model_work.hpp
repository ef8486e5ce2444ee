// What a model's phases must compute and move at least, by its configuration.
#pragma once

#include <cstdint>

#include "core/models/model_config.hpp"

namespace verlc::bench {

/// Multiplications and additions of the forward pass: matrices for each token, the head for each row of
/// logits, attention for each (query, key) pair of all layers and heads. The backward has twice as many.
struct ModelWork {
  double token = 0, row = 0, pair = 0;
  double parameters = 0;       ///< all weights' elements
  double matrix_elements = 0;  ///< of the matrices that products read, the head included
  double kv_floats = 0;        ///< keys and values of one cached token
  double saved_floats = 0;     ///< kept for the backward for one token: the inputs of each layer's ops

  explicit ModelWork(const ModelConfig& config);
};

/// Pairs of the queries at positions first ... last - 1 with the keys up to their own.
double causal_pairs(double first, double last);

/// A step of reinforcement learning: `prompts` prompts with `samples` responses each.
struct StepShape {
  double prompts = 8, samples = 8, prompt_tokens = 128, response_tokens = 128;
  bool shared = true;  ///< a prompt is computed once for all its samples

  [[nodiscard]] double sequences() const { return prompts * samples; }
  [[nodiscard]] double tokens() const { return sequences() * (prompt_tokens + response_tokens); }
};

/// One forward pass over all prompts and responses, with logits at the response tokens only.
double forward_flops(const ModelWork& model, const StepShape& step);
/// Prefill and decode: the last token is sampled but not fed.
double generate_flops(const ModelWork& model, const StepShape& step);
/// Bytes that the decode steps read when all sequences run at once: weights of `weight_bytes` an element, and
/// the float32 cache (a shared prompt's once).
double generate_bytes(const ModelWork& model, const StepShape& step, double weight_bytes);

}  // namespace verlc::bench
