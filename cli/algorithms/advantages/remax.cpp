// ReMax (Li et al., 2023): the reward to go against the reward of the greedy response to the same prompt.
#include "algorithms/advantage.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& /*group*/) {
  const PackedLayout& layout = input.layout;
  check(input.baselines.size() == layout.num_samples(), "one greedy reward per sample");
  AdvantageOutput out;
  out.returns = rewards_to_go(layout, input.rewards, params.gamma);
  out.advantages = out.returns;
  for (size_t s = 0; s < layout.num_samples(); ++s)
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0)
        out.advantages[t] = static_cast<float>(static_cast<double>(out.returns[t]) - input.baselines[s]);
  return out;
}

}  // namespace

void register_advantage_remax(AdvantageRegistry& registry) {
  registry.add({.name = "remax",
                .help = "reward to go minus the reward of the greedy response",
                .needs_baselines = true,
                .discounts = true,
                .compute = compute});
}

}  // namespace verlc
