// Leave-one-out baseline (Ahmadian et al., "Back to basics", 2024): a reward against the mean of its
// group-mates, which is n / (n - 1) times its distance to the group's mean.
#include "algorithms/advantage.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& /*params*/,
                        GroupReducer& /*group*/) {
  check(input.uids.size() == input.layout.num_samples(), "one uid per sample");
  std::vector<double> rewards = outcomes_of(input);
  for (const std::vector<size_t>& group : groups_by_uid(input.uids)) {
    if (group.size() < 2) fail_lone_group("rloo", input.uids[group.front()]);
    const auto n = static_cast<double>(group.size());
    double mean = 0.0;
    for (const size_t s : group) mean += rewards[s];
    mean /= n;
    for (const size_t s : group) rewards[s] = (rewards[s] - mean) * n / (n - 1.0);
  }
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_rloo(AdvantageRegistry& registry) {
  registry.add({.name = "rloo", .needs_groups = true, .compute = compute});
}

}  // namespace verlc
