// DRO (Richemond et al., "Offline regularised reinforcement learning for large language models alignment",
// 2024): policy gradient with a quadratic hold on the log-ratio, -(A log pi - beta / 2 log-ratio^2).
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double advantage = input.advantages[t];
    const double log_ratio = log_ratio_at(input, t);
    return TokenTerm{.value = -(advantage * static_cast<double>(input.logp[t]) -
                                params.dro_beta / 2.0 * log_ratio * log_ratio),
                     .d_logp = -(advantage - params.dro_beta * log_ratio)};
  });
}

}  // namespace

void register_policy_loss_dro(PolicyLossRegistry& registry) {
  registry.add({.name = "dro",
                .help = "policy gradient with a quadratic penalty on the log-ratio",
                .keys = {"policy_loss.dro_beta"},
                .needs_zero_advantages = true,
                .compute = compute});
}

}  // namespace verlc
