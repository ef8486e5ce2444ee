// DPPO with binary KL (Qi et al., "Rethinking the trust region in LLM reinforcement learning", 2026): as
// dppo_tv, with the KL divergence between "this token" and "another" under the old and the new policy.
#include "algorithms/trust_region.hpp"

namespace verlc {
namespace {

double binary_kl(const TrustRegionToken& token) {
  constexpr double kSmall = 1e-8;  // keeps the logarithm of 1 - p finite
  return token.old_prob * -token.log_ratio +
         (1.0 - token.old_prob) * std::log((1.0 - token.old_prob + kSmall) / (1.0 - token.prob + kSmall));
}

bool inside(const TrustRegionToken& token, const PolicyLossParams& params) {
  const double kl = binary_kl(token);
  return token.advantage > 0.0 ? kl <= params.clip_ratio_high || token.prob <= token.old_prob
                               : kl <= params.clip_ratio_low || token.prob >= token.old_prob;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return trust_region_loss(input, params, d_logp, metrics, inside);
}

}  // namespace

void register_policy_loss_dppo_kl(PolicyLossRegistry& registry) {
  registry.add({.name = "dppo_kl",
                .help = "trust region on the token's binary KL; clip_ratio_c = 20 is usual",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c"},
                .compute = compute});
}

}  // namespace verlc
