#include "algorithms/packed.hpp"

#include <unordered_map>

#include "core/base/check.hpp"

namespace verlc {

void check_layout(const PackedLayout& layout) {
  if (layout.cu_seqlens.empty()) {
    check(layout.mask.empty(), "a packed batch with tokens has sequence bounds");
    return;
  }
  check(layout.cu_seqlens.front() == 0, "sequence bounds start at 0");
  for (size_t s = 0; s + 1 < layout.cu_seqlens.size(); ++s)
    check(layout.cu_seqlens[s] <= layout.cu_seqlens[s + 1], "sequence bounds ascend");
  check(static_cast<size_t>(layout.cu_seqlens.back()) == layout.mask.size(), "sequence bounds end at T");
}

std::vector<int64_t> loss_tokens_per_sample(const PackedLayout& layout) {
  std::vector<int64_t> counts(layout.num_samples(), 0);
  for (size_t s = 0; s < counts.size(); ++s)
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) counts[s] += layout.mask[t] != 0 ? 1 : 0;
  return counts;
}

std::vector<double> sum_per_sample(const PackedLayout& layout, std::span<const float> values) {
  check(values.size() == layout.num_tokens(), "one value per token");
  std::vector<double> sums(layout.num_samples(), 0.0);
  for (size_t s = 0; s < sums.size(); ++s)
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0) sums[s] += static_cast<double>(values[t]);
  return sums;
}

std::vector<float> place_outcomes(const PackedLayout& layout, std::span<const double> outcomes) {
  check(outcomes.size() == layout.num_samples(), "one outcome per sample");
  std::vector<float> rewards(layout.num_tokens(), 0.0F);
  for (size_t s = 0; s < outcomes.size(); ++s) {
    for (size_t t = layout.end(s); t-- > layout.begin(s);) {
      if (layout.mask[t] == 0) continue;
      rewards[t] = static_cast<float>(outcomes[s]);
      break;
    }
  }
  return rewards;
}

std::vector<std::vector<size_t>> groups_by_uid(std::span<const uint64_t> uids) {
  std::vector<std::vector<size_t>> groups;
  std::unordered_map<uint64_t, size_t> index;
  for (size_t s = 0; s < uids.size(); ++s) {
    const auto [entry, added] = index.try_emplace(uids[s], groups.size());
    if (added) groups.emplace_back();
    groups[entry->second].push_back(s);
  }
  return groups;
}

}  // namespace verlc
