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

/// In order, each with at most `max_sequences` sequences and `max_tokens` tokens (0 = no limit; a longer
/// sequence is alone). cu_seqlens: [S + 1].
std::vector<MicroBatch> cut(std::span<const int32_t> cu_seqlens, uint64_t max_sequences, uint64_t max_tokens);

/// The same number on every rank of the group: appends empty micro-batches up to the largest count
/// (collective).
void equalize(std::vector<MicroBatch>& batches, plugin::Group& group);

}  // namespace verlc::fsdp
