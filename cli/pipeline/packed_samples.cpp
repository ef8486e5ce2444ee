#include "pipeline/packed_samples.hpp"

namespace verlc::pipeline {
namespace {

void append_sequence(PackedSamples& packed, std::span<const int32_t> tokens, float temperature) {
  for (size_t i = 0; i < tokens.size(); ++i) packed.positions.push_back(static_cast<int32_t>(i));
  packed.tokens.insert(packed.tokens.end(), tokens.begin(), tokens.end());
  packed.cu_seqlens.push_back(static_cast<int32_t>(packed.tokens.size()));
  packed.bounds.push_back(static_cast<int64_t>(packed.tokens.size()));
  packed.temperature.push_back(temperature);
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, size_t begin, size_t end) {
  if (all.empty()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

PackedLayout PackedSamples::part(size_t first, size_t count, std::vector<int64_t>& storage) const {
  storage.clear();
  for (size_t s = first; s <= first + count; ++s) storage.push_back(bounds[s] - bounds[first]);
  const auto begin = static_cast<size_t>(bounds[first]), end = static_cast<size_t>(bounds[first + count]);
  return {storage, std::span<const uint8_t>(mask).subspan(begin, end - begin)};
}

PackedBatch PackedSamples::batch(uint64_t micro_sequences, uint64_t micro_tokens) const {
  return {tokens, positions, cu_seqlens, mask, temperature, micro_sequences, micro_tokens};
}

PackedSamples pack_samples(std::span<const Sample> samples, double temperature) {
  PackedSamples packed;
  for (const Sample& sample : samples) {
    std::vector<int32_t> tokens = sample.prompt->tokens;
    tokens.insert(tokens.end(), sample.response.begin(), sample.response.end());
    append_sequence(packed, tokens, static_cast<float>(temperature));
    packed.mask.resize(packed.mask.size() + sample.prompt->tokens.size(), 0);
    packed.mask.resize(packed.tokens.size(), sample.scored ? 1 : 0);
    packed.old_logp.resize(packed.old_logp.size() + sample.prompt->tokens.size(), 0.0f);
    packed.old_logp.insert(packed.old_logp.end(), sample.logp.begin(), sample.logp.end());
    packed.uids.push_back(sample.prompt->uid);
    packed.outcomes.push_back(sample.scored ? sample.score : 0.0);
  }
  return packed;
}

PackedSamples pack_sequences(std::span<const MaskedTokens> sequences) {
  PackedSamples packed;
  for (const MaskedTokens& sequence : sequences) {
    append_sequence(packed, sequence.tokens, 1.0f);
    packed.mask.insert(packed.mask.end(), sequence.mask.begin(), sequence.mask.end());
  }
  return packed;
}

PackedSamples slice(const PackedSamples& all, size_t first, size_t last) {
  PackedSamples part;
  const auto begin = static_cast<size_t>(all.bounds[first]), end = static_cast<size_t>(all.bounds[last]);
  part.tokens = part_of(all.tokens, begin, end);
  part.positions = part_of(all.positions, begin, end);
  part.mask = part_of(all.mask, begin, end);
  part.old_logp = part_of(all.old_logp, begin, end);
  part.ref_logp = part_of(all.ref_logp, begin, end);
  part.advantages = part_of(all.advantages, begin, end);
  part.temperature = part_of(all.temperature, first, last);
  part.uids = part_of(all.uids, first, last);
  part.outcomes = part_of(all.outcomes, first, last);
  for (size_t s = first + 1; s <= last; ++s) {
    part.bounds.push_back(all.bounds[s] - all.bounds[first]);
    part.cu_seqlens.push_back(static_cast<int32_t>(part.bounds.back()));
  }
  return part;
}

}  // namespace verlc::pipeline
