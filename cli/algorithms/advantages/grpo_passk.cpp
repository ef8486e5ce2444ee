// Pass@k (Walder and Karkhanis, "Pass@K policy optimization", 2025, in verl's form): only the best response
// of a group learns, by its lead over the second best, over the group's standard deviation where the recipe
// asks for it.
#include <algorithm>
#include <limits>

#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

// One group: 0 for all but the best, the first of equals.
void keep_lead(std::span<const size_t> group, const AdvantageParams& params, std::vector<double>& rewards) {
  size_t best = group.front();
  for (const size_t s : group)
    if (rewards[s] > rewards[best]) best = s;
  double second = -std::numeric_limits<double>::infinity();
  for (const size_t s : group)
    if (s != best) second = std::max(second, rewards[s]);
  const double divisor = params.norm_adv_by_std_in_grpo
                             ? group_statistics(group, rewards, params.ddof).deviation + params.eps
                             : 1.0;
  const double lead = (rewards[best] - second) / divisor;
  for (const size_t s : group) rewards[s] = 0.0;
  rewards[best] = lead;
}

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& /*group*/) {
  std::vector<double> rewards = outcomes_of(input);
  for_each_group(input, "grpo_passk",
                 [&](std::span<const size_t> group) { keep_lead(group, params, rewards); });
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_grpo_passk(AdvantageRegistry& registry) {
  registry.add({.name = "grpo_passk",
                .help = "only the best response of a group learns, by its lead over the second",
                .needs_groups = true,
                .normalises_groups = true,
                .zero_for_equal = true,
                .compute = compute});
}

}  // namespace verlc
