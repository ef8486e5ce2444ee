// GPG (Chu et al., "GPG: a simple and strong reinforcement learning baseline", 2025): plain policy gradient,
// -A log pi.
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

double compute(const PolicyLossInput& input, const PolicyLossParams& /*params*/, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double advantage = input.advantages[t];
    return TokenTerm{.value = -advantage * static_cast<double>(input.logp[t]), .d_logp = -advantage};
  });
}

}  // namespace

void register_policy_loss_gpg(PolicyLossRegistry& registry) {
  registry.add({.name = "gpg", .help = "plain policy gradient without a ratio", .compute = compute});
}

}  // namespace verlc
