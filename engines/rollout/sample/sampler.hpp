// Chooses one token from one row of logits: a function of the row, the sampling options, the seed and the
// index of the token alone, whatever else is in the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rollout/sample/filter.hpp"
#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

struct SampledToken {
  int32_t token = 0;
  float logp =
      0;  ///< under softmax(logits / temperature) of the whole vocabulary, before penalty and filters
  bool valid = true;  ///< false when the row has a NaN or +infinity, or leaves nothing to choose
};

/// What a row's choice depends on beside its logits.
struct SampleInput {
  const Sampling* sampling = nullptr;
  uint64_t seed = 0;
  uint64_t index = 0;                  ///< of the token within the response
  std::span<const int32_t> seen;       ///< ids of prompt and response so far, for the repetition penalty
  std::span<const int32_t> forbidden;  ///< ids that may not be sampled now
};

/// Working memory for one thread; results do not depend on its history.
class Sampler {
 public:
  /// Reserves for rows of `vocab` logits, so that choose() hardly allocates.
  explicit Sampler(size_t vocab);
  /// Order: repetition penalty (Keskar et al. 2019: positive logits divided, others multiplied), forbidden
  /// ids, temperature, min-p, top-k, top-p, then the inverse of the distribution function in vocabulary order
  /// at the first uniform number of RandomStream(seed, Purpose::sample, 0, index). Temperature 0 takes the
  /// largest logit, the smallest id among equals, and reports log-probs at temperature 1. logits: [V].
  SampledToken choose(std::span<const float> logits, const SampleInput& input);

 private:
  std::span<const float> edited(std::span<const float> logits, const SampleInput& input);
  int32_t draw(std::span<const float> logits, const SampleInput& input, float inv_temperature);
  int32_t draw_from_blocks(double uniform) const;
  int32_t draw_from_kept(double uniform) const;

  std::vector<float> row_;
  std::vector<float> weights_;
  std::vector<float> block_sums_;
  TokenFilter filter_;
  std::vector<int32_t> kept_;
  std::vector<uint8_t> penalised_;
};

/// The factor that a trainer multiplies logits with for this temperature (1 for 0).
float inverse_temperature(double temperature);

}  // namespace verlc::rollout
