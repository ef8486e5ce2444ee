// Leave-one-out baseline (Ahmadian et al., "Back to basics", 2024): a reward against the mean of its
// group-mates, which is n / (n - 1) times its distance to the group's mean.
#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& /*group*/) {
  std::vector<double> rewards = outcomes_of(input);
  for_each_group(input, "rloo", [&](std::span<const size_t> group) {
    const auto n = static_cast<double>(group.size());
    const double mean = group_statistics(group, rewards, params.ddof).mean;
    for (const size_t s : group) rewards[s] = (rewards[s] - mean) * n / (n - 1.0);
  });
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_rloo(AdvantageRegistry& registry) {
  registry.add({.name = "rloo",
                .help = "reward minus the mean of the other responses to its prompt",
                .needs_groups = true,
                .zero_for_equal = true,
                .compute = compute});
}

}  // namespace verlc
