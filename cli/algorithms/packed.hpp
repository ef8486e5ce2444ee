// Packed per-token data of several samples, as every algorithm here takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verlc {

/// Where samples lie in a packed batch. Sample s owns tokens [cu_seqlens[s], cu_seqlens[s + 1]); `mask` is 1
/// on loss tokens (tokens the model sampled and trains on) and 0 elsewhere. Views, not owned.
struct PackedLayout {
  std::span<const int64_t>
      cu_seqlens{};                 ///< [S + 1], ascending, first 0, last T; {0} or empty means no sample
  std::span<const uint8_t> mask{};  ///< [T]

  [[nodiscard]] size_t num_samples() const { return cu_seqlens.empty() ? 0 : cu_seqlens.size() - 1; }
  [[nodiscard]] size_t num_tokens() const { return mask.size(); }
  [[nodiscard]] size_t begin(size_t sample) const { return static_cast<size_t>(cu_seqlens[sample]); }
  [[nodiscard]] size_t end(size_t sample) const { return static_cast<size_t>(cu_seqlens[sample + 1]); }
};

/// Stops the process when bounds do not ascend from 0 to T: layouts come from our own packing.
void check_layout(const PackedLayout& layout);

/// Number of loss tokens of each sample, [S].
std::vector<int64_t> loss_tokens_per_sample(const PackedLayout& layout);

/// Sum of `values` over the loss tokens of each sample, [S], in double and in token order. Masked slots are
/// never read into a sum (traps T10).
std::vector<double> sum_per_sample(const PackedLayout& layout, std::span<const float> values);

/// Token rewards [T] that hold each sample's outcome on its last loss token (traps T16) and 0 elsewhere. A
/// sample without loss tokens keeps its outcome out of the result.
std::vector<float> place_outcomes(const PackedLayout& layout, std::span<const double> outcomes);

/// Samples of one uid, in order of first appearance; [G][...] sample indices ascending.
std::vector<std::vector<size_t>> groups_by_uid(std::span<const uint64_t> uids);

}  // namespace verlc
