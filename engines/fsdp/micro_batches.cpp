#include "fsdp/micro_batches.hpp"

#include <algorithm>

namespace verlc::fsdp {

namespace {

// Tokens that sequence s adds after the sequences from `first` on.
uint64_t cost(std::span<const Extent> extents, size_t first, size_t s) {
  const bool has_prefix = s > first && extents[s].group >= 0 && extents[s - 1].group == extents[s].group;
  return static_cast<uint64_t>(extents[s].length - (has_prefix ? extents[s].shared : 0));
}

bool begins_group(std::span<const Extent> extents, size_t s) {
  return extents[s].group >= 0 && (s == 0 || extents[s - 1].group != extents[s].group);
}

uint64_t group_cost(std::span<const Extent> extents, size_t first) {
  uint64_t sum = 0;
  for (size_t s = first; s < extents.size() && extents[s].group == extents[first].group; ++s)
    sum += cost(extents, first, s);
  return sum;
}

}  // namespace

std::vector<MicroBatch> cut(std::span<const int32_t> cu_seqlens, std::span<const Extent> extents,
                            uint64_t max_sequences, uint64_t max_tokens) {
  std::vector<MicroBatch> batches;
  uint64_t used = 0;
  for (size_t s = 0; s < extents.size(); ++s) {
    const auto begin = static_cast<size_t>(cu_seqlens[s]), end = static_cast<size_t>(cu_seqlens[s + 1]);
    const size_t first = batches.empty() ? s : batches.back().sequence_begin;
    uint64_t wanted = cost(extents, first, s);
    if (max_tokens > 0 && begins_group(extents, s)) {
      const uint64_t whole = group_cost(extents, s);
      if (whole <= max_tokens) wanted = whole;
    }
    const bool full = batches.empty() || (max_sequences > 0 && s - first >= max_sequences) ||
                      (max_tokens > 0 && used + wanted > max_tokens);
    if (full) batches.push_back({s, s, begin, begin});
    used = (full ? 0 : used) + cost(extents, batches.back().sequence_begin, s);
    batches.back().sequence_end = s + 1;
    batches.back().token_end = end;
  }
  return batches;
}

void equalize(std::vector<MicroBatch>& batches, plugin::Group& group) {
  const int64_t own = static_cast<int64_t>(batches.size());
  int64_t most = own;
  group.all_reduce(std::span<const int64_t>(&own, 1), std::span<int64_t>(&most, 1), VERLC_REDUCE_MAX);
  MicroBatch nothing;
  if (!batches.empty())
    nothing = {batches.back().sequence_end, batches.back().sequence_end, batches.back().token_end,
               batches.back().token_end};
  batches.resize(static_cast<size_t>(std::max(own, most)), nothing);
}

}  // namespace verlc::fsdp
