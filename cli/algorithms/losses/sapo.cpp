// SAPO (Gao et al., "Soft adaptive policy optimization", 2025): a sigmoid gate of the ratio in place of the
// clip, with a temperature for each sign of the advantage.
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double advantage = input.advantages[t];
    const double tau = advantage > 0.0 ? params.tau_pos : params.tau_neg;
    const Ratio ratio = ratio_of(log_ratio_at(input, t));
    const double gate = 1.0 / (1.0 + std::exp(-tau * (ratio.value - 1.0)));
    TokenTerm token;
    token.value = -advantage * gate * 4.0 / tau;
    if (ratio.moves) token.d_logp = -advantage * 4.0 * gate * (1.0 - gate) * ratio.value;
    return token;
  });
}

}  // namespace

void register_policy_loss_sapo(PolicyLossRegistry& registry) {
  registry.add({.name = "sapo",
                .help = "a soft gate of the ratio in place of the clip",
                .keys = {"tau_pos", "tau_neg"},
                .aggregation = Aggregation::seq_mean_token_mean,
                .compute = compute});
}

}  // namespace verlc
