// Generalised advantage estimation (Schulman et al., 2016) on the trainable tokens of each response:
// observation tokens between them are stepped over as if they were not there. Advantages are whitened over
// all ranks.
#include "algorithms/advantage.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

AdvantageOutput compute(const AdvantageInput& input, const AdvantageParams& params, GroupReducer& group) {
  const PackedLayout& layout = input.layout;
  AdvantageOutput out = gae_advantages(input, params);
  whiten(out.advantages, layout.mask, group);
  return out;
}

}  // namespace

AdvantageOutput gae_advantages(const AdvantageInput& input, const AdvantageParams& params) {
  const PackedLayout& layout = input.layout;
  check(input.values.size() == layout.num_tokens(), "one value per token");
  check(input.rewards.size() == layout.num_tokens(), "one reward per token");
  AdvantageOutput out;
  out.advantages.assign(layout.num_tokens(), 0.0F);
  out.returns.assign(layout.num_tokens(), 0.0F);
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double next_value = 0.0, next_advantage = 0.0;
    for (size_t t = layout.end(s); t-- > layout.begin(s);) {
      if (layout.mask[t] == 0) continue;
      const double value = input.values[t];
      const double delta = static_cast<double>(input.rewards[t]) + params.gamma * next_value - value;
      next_advantage = delta + params.gamma * params.lam * next_advantage;
      next_value = value;
      out.advantages[t] = static_cast<float>(next_advantage);
      out.returns[t] = static_cast<float>(next_advantage + value);
    }
  }
  return out;
}

void register_advantage_gae(AdvantageRegistry& registry) {
  registry.add({.name = "gae",
                .help = "generalised advantage estimation with a critic",
                .needs_values = true,
                .discounts = true,
                .compute = compute});
}

}  // namespace verlc
