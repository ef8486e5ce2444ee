// GRPO (Shao et al., "DeepSeekMath", 2024): a response's reward against its group's mean, over the group's
// standard deviation; without the division it is Dr.GRPO (Liu et al., "Understanding R1-Zero-like training",
// 2025).
#include <cmath>

#include "algorithms/advantage.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

// Centres one group's rewards in place, divided by deviation + eps when the recipe asks for it.
void normalise_group(std::span<const size_t> group, const AdvantageParams& params,
                     std::vector<double>& rewards) {
  const auto n = static_cast<double>(group.size());
  // As the distance from one of them: the mean of equal rewards is that reward, and their advantages are 0.
  const double first = rewards[group.front()];
  double mean = 0.0;
  for (const size_t s : group) mean += rewards[s] - first;
  mean = first + mean / n;
  double square = 0.0;
  for (const size_t s : group) square += (rewards[s] - mean) * (rewards[s] - mean);
  const double deviation = std::sqrt(square / (n - params.ddof));
  const double divisor = params.norm_adv_by_std_in_grpo ? deviation + params.eps : 1.0;
  for (const size_t s : group) rewards[s] = (rewards[s] - mean) / divisor;
}

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& /*group*/) {
  check(input.uids.size() == input.layout.num_samples(), "one uid per sample");
  check(params.ddof == 0 || params.ddof == 1, "ddof is 0 or 1");
  std::vector<double> rewards = outcomes_of(input);
  for (const std::vector<size_t>& group : groups_by_uid(input.uids)) {
    if (group.size() < 2) fail_lone_group("grpo", input.uids[group.front()]);
    normalise_group(group, params, rewards);
  }
  return broadcast_outcomes(input.layout, rewards);
}

}  // namespace

void register_advantage_grpo(AdvantageRegistry& registry) {
  registry.add({.name = "grpo", .needs_groups = true, .compute = compute});
}

}  // namespace verlc
