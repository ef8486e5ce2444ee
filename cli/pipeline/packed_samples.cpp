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

// Appends the items [begin, end) of an array that may be absent.
template <typename T>
void append_items(std::vector<T>& to, const std::vector<T>& from, size_t begin, size_t end) {
  if (from.empty()) return;
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

void append_sequence_of(PackedSamples& to, const PackedSamples& from, size_t s) {
  const auto begin = static_cast<size_t>(from.bounds[s]), end = static_cast<size_t>(from.bounds[s + 1]);
  append_items(to.tokens, from.tokens, begin, end);
  append_items(to.positions, from.positions, begin, end);
  append_items(to.mask, from.mask, begin, end);
  append_items(to.old_logp, from.old_logp, begin, end);
  append_items(to.ref_logp, from.ref_logp, begin, end);
  append_items(to.advantages, from.advantages, begin, end);
  append_items(to.temperature, from.temperature, s, s + 1);
  append_items(to.uids, from.uids, s, s + 1);
  append_items(to.outcomes, from.outcomes, s, s + 1);
  append_items(to.shared_prefix, from.shared_prefix, 2 * s, 2 * s + 2);
  to.bounds.push_back(static_cast<int64_t>(to.tokens.size()));
  to.cu_seqlens.push_back(static_cast<int32_t>(to.tokens.size()));
}

}  // namespace

PackedLayout PackedSamples::part(size_t first, size_t count, std::vector<int64_t>& storage) const {
  storage.clear();
  for (size_t s = first; s <= first + count; ++s) storage.push_back(bounds[s] - bounds[first]);
  const auto begin = static_cast<size_t>(bounds[first]), end = static_cast<size_t>(bounds[first + count]);
  return {storage, std::span<const uint8_t>(mask).subspan(begin, end - begin)};
}

PackedBatch PackedSamples::batch(uint64_t micro_sequences, uint64_t micro_tokens) const {
  return {tokens, positions, cu_seqlens, mask, temperature, shared_prefix, micro_sequences, micro_tokens};
}

PackedSamples pack_samples(std::span<const Sample> samples, double temperature, bool share_prompts) {
  PackedSamples packed;
  int32_t group = -1;
  for (const Sample& sample : samples) {
    if (packed.uids.empty() || packed.uids.back() != sample.prompt->uid) ++group;
    if (share_prompts) {
      packed.shared_prefix.push_back(group);
      packed.shared_prefix.push_back(static_cast<int32_t>(sample.prompt->tokens.size()));
    }
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
  for (size_t s = first; s < last; ++s) append_sequence_of(part, all, s);
  return part;
}

PackedSamples select(const PackedSamples& all, std::span<const uint8_t> keep) {
  PackedSamples part;
  for (size_t s = 0; s < all.num_sequences(); ++s)
    if (keep[s] != 0) append_sequence_of(part, all, s);
  return part;
}

}  // namespace verlc::pipeline
