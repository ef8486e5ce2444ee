// REINFORCE++ with a group baseline (Hu et al., 2025): reward minus the group's mean, on every token of the
// response, whitened over all ranks.
#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& group) {
  std::vector<double> rewards = outcomes_of(input);
  for_each_group(input, "reinforce_plus_plus_baseline", [&](std::span<const size_t> mates) {
    const double mean = group_statistics(mates, rewards, params.ddof).mean;
    for (const size_t s : mates) rewards[s] -= mean;
  });
  AdvantageOutput out = broadcast_outcomes(input.layout, rewards);
  whiten(out.advantages, input.layout.mask, group);
  return out;
}

}  // namespace

void register_advantage_reinforce_plus_plus_baseline(AdvantageRegistry& registry) {
  registry.add({.name = "reinforce_plus_plus_baseline",
                .help = "reward minus the group's mean, whitened over the batch",
                .needs_groups = true,
                .compute = compute});
}

}  // namespace verlc
