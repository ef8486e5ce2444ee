// Samples end to end, as engines and algorithms take them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packed.hpp"
#include "host/train_engine.hpp"
#include "pipeline/sample.hpp"
#include "pipeline/text_codec.hpp"

namespace verlc::pipeline {

/// All per-token arrays are [T]; loss tokens are the response's (or the mask's of SFT).
struct PackedSamples {
  std::vector<int32_t> tokens, positions;
  std::vector<int32_t> cu_seqlens = {0};  ///< [S + 1]
  std::vector<int64_t> bounds = {0};      ///< the same, as algorithms take it
  std::vector<uint8_t> mask;
  std::vector<float> temperature;  ///< [S]
  std::vector<float> old_logp, ref_logp, advantages;
  std::vector<uint64_t> uids;    ///< [S], of the prompt
  std::vector<double> outcomes;  ///< [S]

  [[nodiscard]] size_t num_sequences() const { return cu_seqlens.size() - 1; }
  [[nodiscard]] size_t num_tokens() const { return tokens.size(); }
  [[nodiscard]] PackedLayout layout() const { return {bounds, mask}; }
  /// Layout of the sequences [first, first + count), with bounds from 0; `storage` keeps them.
  [[nodiscard]] PackedLayout part(size_t first, size_t count, std::vector<int64_t>& storage) const;
  /// The engine's view with micro-batch limits (0 = none).
  [[nodiscard]] PackedBatch batch(uint64_t micro_sequences, uint64_t micro_tokens) const;
};

/// Unscored samples are packed with an empty mask: they take no part in any sum.
PackedSamples pack_samples(std::span<const Sample> samples, double temperature);
PackedSamples pack_sequences(std::span<const MaskedTokens> sequences);
/// The sequences [first, last) with their per-token arrays.
PackedSamples slice(const PackedSamples& all, size_t first, size_t last);

}  // namespace verlc::pipeline
