// PPO's clipped surrogate (Schulman et al., 2017) with a bound for negative advantages (dual clip, Ye et al.,
// 2020).
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

TokenTerm dual_clipped(Ratio ratio, double advantage, const PolicyLossParams& params) {
  TokenTerm token = clipped_surrogate(ratio, advantage, params);
  const double bound = -advantage * params.clip_ratio_c;
  if (advantage < 0.0 && token.value > bound) {
    token.value = bound;
    token.d_logp = 0.0;
    token.clipped_lower = true;
  }
  return token;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    return dual_clipped(ratio_of(log_ratio_at(input, t)), input.advantages[t], params);
  });
}

}  // namespace

void register_policy_loss_vanilla(PolicyLossRegistry& registry) {
  registry.add({.name = "vanilla",
                .help = "PPO clip with dual clip",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c"},
                .dual_clip = true,
                .compute = compute});
}

}  // namespace verlc
