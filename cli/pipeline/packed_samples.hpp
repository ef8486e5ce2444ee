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
  std::vector<uint64_t> uids;          ///< [S], of the prompt
  std::vector<double> outcomes;        ///< [S]
  std::vector<int32_t> shared_prefix;  ///< [S, 2] as PackedBatch's, or empty = prompts are not shared

  [[nodiscard]] size_t num_sequences() const { return cu_seqlens.size() - 1; }
  [[nodiscard]] size_t num_tokens() const { return tokens.size(); }
  [[nodiscard]] PackedLayout layout() const { return {bounds, mask}; }
  /// Layout of the sequences [first, first + count), with bounds from 0; `storage` keeps them.
  [[nodiscard]] PackedLayout part(size_t first, size_t count, std::vector<int64_t>& storage) const;
  /// The engine's view with micro-batch limits (0 = none).
  [[nodiscard]] PackedBatch batch(uint64_t micro_sequences, uint64_t micro_tokens) const;
};

/// Unscored samples are packed with an empty mask: they take no part in any sum. `share_prompts`: tell the
/// engine which neighbours have one prompt.
PackedSamples pack_samples(std::span<const Sample> samples, double temperature, bool share_prompts = true);
PackedSamples pack_sequences(std::span<const MaskedTokens> sequences);
/// The sequences [first, last) with their arrays.
PackedSamples slice(const PackedSamples& all, size_t first, size_t last);
/// The sequences with keep[s] != 0, in their order. keep: [S].
PackedSamples select(const PackedSamples& all, std::span<const uint8_t> keep);

}  // namespace verlc::pipeline
