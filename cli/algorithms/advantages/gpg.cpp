// GPG (Chu et al., "GPG: a simple and strong reinforcement learning baseline", 2025): reward minus the
// group's mean, times samples over samples with a reward other than 0, over all ranks.
#include <algorithm>
#include <array>

#include "algorithms/advantage.hpp"
#include "algorithms/exact_sum.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& group) {
  std::vector<double> rewards = outcomes_of(input);
  std::array<ExactSum, 2> counts;  // samples, and those with a reward
  for (const double reward : rewards) {
    counts[0].add(1.0);
    counts[1].add(reward != 0.0 ? 1.0 : 0.0);
  }
  reduce_sums(counts, group);
  const double scale = counts[0].value() / std::max(1.0, counts[1].value());
  for_each_group(input, "gpg", [&](std::span<const size_t> mates) {
    const double mean = group_statistics(mates, rewards, params.ddof).mean;
    for (const size_t s : mates) rewards[s] = scale * (rewards[s] - mean);
  });
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_gpg(AdvantageRegistry& registry) {
  registry.add({.name = "gpg",
                .help = "reward minus the group's mean, scaled by the share of samples with a reward",
                .needs_groups = true,
                .zero_for_equal = true,
                .compute = compute});
}

}  // namespace verlc
