// KL-Cov (Cui et al., "The entropy mechanism of reinforcement learning for reasoning language models", 2025):
// the unclipped surrogate, and a penalty on the log-ratio of the tokens with the highest covariance.
#include "algorithms/covariance.hpp"
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

/// 1 at the tokens that are penalised; equal covariances: the earlier token.
std::vector<uint8_t> highest_tokens(const PolicyLossInput& input, const PolicyLossParams& params) {
  std::vector<uint8_t> highest(input.layout.num_tokens(), 0);
  std::vector<TokenCovariance> tokens = token_covariances(input);
  const size_t count = std::min(tokens.size(), share_of(tokens, params.kl_cov_ratio));
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const TokenCovariance& a, const TokenCovariance& b) { return a.value > b.value; });
  for (size_t i = 0; i < count; ++i) highest[tokens[i].token] = 1;
  return highest;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  check_policy_input(input, d_logp);
  const std::vector<uint8_t> highest = highest_tokens(input, params);
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double log_ratio = log_ratio_at(input, t);
    TokenTerm token;
    token.value = token.d_logp = -static_cast<double>(input.advantages[t]) * std::exp(log_ratio);
    if (highest[t] != 0) {
      token.value += params.ppo_kl_coef * std::abs(log_ratio);
      token.d_logp += params.ppo_kl_coef * (log_ratio > 0.0 ? 1.0 : log_ratio < 0.0 ? -1.0 : 0.0);
      token.clipped = true;
    }
    return token;
  });
}

}  // namespace

void register_policy_loss_kl_cov(PolicyLossRegistry& registry) {
  registry.add({.name = "kl_cov",
                .help = "unclipped surrogate; the tokens of highest covariance are held by a penalty",
                .keys = {"policy_loss.kl_cov_ratio", "policy_loss.ppo_kl_coef"},
                .needs_zero_advantages = true,
                .compute = compute});
}

}  // namespace verlc
