// DPPO with binary total variation (Qi et al., "Rethinking the trust region in LLM reinforcement learning",
// 2026): a token is left out once its probability has moved further than the trust region in the direction
// that its advantage pushes; the others have the truncated ratio as a constant weight.
#include "algorithms/trust_region.hpp"

namespace verlc {
namespace {

bool inside(const TrustRegionToken& token, const PolicyLossParams& params) {
  const double moved = token.prob - token.old_prob;
  return token.advantage > 0.0 ? moved <= params.clip_ratio_high : moved >= -params.clip_ratio_low;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return trust_region_loss(input, params, d_logp, metrics, inside);
}

}  // namespace

void register_policy_loss_dppo_tv(PolicyLossRegistry& registry) {
  registry.add({.name = "dppo_tv",
                .help = "trust region on the change of the token's probability; clip_ratio_c = 20 is usual",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c"},
                .compute = compute});
}

}  // namespace verlc
