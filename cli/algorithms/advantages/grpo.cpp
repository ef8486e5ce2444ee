// GRPO (Shao et al., "DeepSeekMath", 2024): a response's reward against its group's mean, over the group's
// standard deviation; without the division it is Dr.GRPO (Liu et al., "Understanding R1-Zero-like training",
// 2025).
#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& /*group*/) {
  std::vector<double> rewards = outcomes_of(input);
  for_each_group(input, "grpo", [&](std::span<const size_t> group) {
    const GroupStatistics statistics = group_statistics(group, rewards, params.ddof);
    const double divisor = params.norm_adv_by_std_in_grpo ? statistics.deviation + params.eps : 1.0;
    for (const size_t s : group) rewards[s] = (rewards[s] - statistics.mean) / divisor;
  });
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_grpo(AdvantageRegistry& registry) {
  registry.add({.name = "grpo",
                .help = "reward minus the mean of its prompt's group, by choice over its std",
                .needs_groups = true,
                .normalises_groups = true,
                .zero_for_equal = true,
                .compute = compute});
}

}  // namespace verlc
