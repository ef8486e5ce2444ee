// CISPO (MiniMax, "MiniMax-M1", 2025): the clipped ratio is a constant weight of the policy gradient, so that
// no token loses its gradient.
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double ratio = ratio_of(log_ratio_at(input, t)).value;
    const double clipped = std::clamp(ratio, 1.0 - params.clip_ratio_low, 1.0 + params.clip_ratio_high);
    const double weight = -clipped * static_cast<double>(input.advantages[t]);
    return TokenTerm{
        .value = weight * static_cast<double>(input.logp[t]), .d_logp = weight, .clipped = clipped != ratio};
  });
}

}  // namespace

void register_policy_loss_cispo(PolicyLossRegistry& registry) {
  registry.add({.name = "cispo",
                .help =
                    "policy gradient weighted by the clipped ratio; clip_ratio_low 1 and above leaves the "
                    "lower side open",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high"},
                .compute = compute});
}

}  // namespace verlc
