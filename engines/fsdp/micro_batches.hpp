// Cuts a packed batch into micro-batches of whole sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verlc/plugin.hpp"

namespace verlc::fsdp {

/// Runs of sequences and of tokens, [begin, end).
struct MicroBatch {
  size_t sequence_begin = 0, sequence_end = 0;
  size_t token_begin = 0, token_end = 0;
};

/// What a pass computes of a sequence.
struct Extent {
  int32_t group = -1;  ///< neighbours with the same group, not -1, have the first `shared` tokens in common
  int32_t shared = 0;  ///< 0 without a group
  int32_t length = 0;  ///< leading tokens that are needed; at least `shared`, or 0 = none
};

/// In order, each with at most `max_sequences` sequences and `max_tokens` computed tokens (0 = no limit; a
/// longer sequence is alone). A group that fits a micro-batch of its own is not cut by the token limit.
/// cu_seqlens: [S + 1]; extents: [S].
std::vector<MicroBatch> cut(std::span<const int32_t> cu_seqlens, std::span<const Extent> extents,
                            uint64_t max_sequences, uint64_t max_tokens);

/// The same number on every rank of the group: appends empty micro-batches up to the largest count
/// (collective).
void equalize(std::vector<MicroBatch>& batches, plugin::Group& group);

}  // namespace verlc::fsdp
