// REINFORCE++ (Hu et al., 2025): the discounted reward to go of each trainable token, whitened over all
// ranks. Observation tokens are stepped over (traps T17).
#include "algorithms/advantage.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& group) {
  AdvantageOutput out;
  out.returns = rewards_to_go(input.layout, input.rewards, params.gamma);
  out.advantages = out.returns;
  whiten(out.advantages, input.layout.mask, group);
  return out;
}

}  // namespace

void register_advantage_reinforce_plus_plus(AdvantageRegistry& registry) {
  registry.add({.name = "reinforce_plus_plus",
                .help = "discounted reward to go of each token, whitened over the batch; needs no group",
                .discounts = true,
                .compute = compute});
}

}  // namespace verlc
