// OPO (Hao et al., "On-policy RL with optimal reward baseline", 2025): the group's baseline is the mean of
// its rewards weighted by the lengths of the responses.
#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& /*params*/,
                        GroupReducer& /*group*/) {
  std::vector<double> rewards = outcomes_of(input);
  const std::vector<int64_t> lengths = loss_tokens_per_sample(input.layout);
  for_each_group(input, "opo", [&](std::span<const size_t> group) {
    // As the distance from one of them: equal rewards have advantage 0 exactly.
    const double first = rewards[group.front()];
    double weighted = 0.0, total = 0.0;
    for (const size_t s : group) {
      weighted += static_cast<double>(lengths[s]) * (rewards[s] - first);
      total += static_cast<double>(lengths[s]);
    }
    const double baseline = first + (total > 0.0 ? weighted / total : 0.0);
    for (const size_t s : group) rewards[s] -= baseline;
  });
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_opo(AdvantageRegistry& registry) {
  registry.add({.name = "opo",
                .help = "reward minus the length-weighted mean of its prompt's group",
                .needs_groups = true,
                .zero_for_equal = true,
                .compute = compute});
}

}  // namespace verlc
