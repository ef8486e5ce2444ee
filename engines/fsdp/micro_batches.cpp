#include "fsdp/micro_batches.hpp"

#include <algorithm>

namespace verlc::fsdp {

std::vector<MicroBatch> cut(std::span<const int32_t> cu_seqlens, uint64_t max_sequences,
                            uint64_t max_tokens) {
  std::vector<MicroBatch> batches;
  const size_t count = cu_seqlens.empty() ? 0 : cu_seqlens.size() - 1;
  for (size_t s = 0; s < count; ++s) {
    const auto begin = static_cast<size_t>(cu_seqlens[s]), end = static_cast<size_t>(cu_seqlens[s + 1]);
    const bool full = batches.empty() ||
                      (max_sequences > 0 && s - batches.back().sequence_begin >= max_sequences) ||
                      (max_tokens > 0 && end - batches.back().token_begin > max_tokens);
    if (full) batches.push_back({s, s, begin, begin});
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
