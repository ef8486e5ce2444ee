// Clip-Cov (Cui et al., "The entropy mechanism of reinforcement learning for reasoning language models",
// 2025): PPO's clip, and a few tokens drawn from those whose covariance lies in a range learn nothing.
#include "algorithms/covariance.hpp"
#include "algorithms/token_terms.hpp"
#include "core/base/rng.hpp"

namespace verlc {
namespace {

// No bound on the log-ratio here.
TokenTerm term_at(const PolicyLossInput& input, const PolicyLossParams& params, size_t t) {
  return clipped_surrogate({std::exp(log_ratio_at(input, t)), true}, input.advantages[t], params);
}

/// 1 at the tokens that are left out.
std::vector<uint8_t> drawn_tokens(const PolicyLossInput& input, const PolicyLossParams& params) {
  std::vector<uint8_t> left_out(input.layout.num_tokens(), 0);
  std::vector<uint32_t> range;
  const std::vector<TokenCovariance> tokens = token_covariances(input);
  for (const TokenCovariance& token : tokens) {
    if (token.value <= params.clip_cov_lb || token.value >= params.clip_cov_ub) continue;
    if (!term_at(input, params, token.token).clipped) range.push_back(static_cast<uint32_t>(token.token));
  }
  const size_t wanted = share_of(tokens, params.clip_cov_ratio);
  RandomStream stream(input.seed, Purpose::loss);
  shuffle(range, stream);
  for (size_t i = 0; i < std::min(wanted, range.size()); ++i) left_out[range[i]] = 1;
  return left_out;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  check_policy_input(input, d_logp);
  const std::vector<uint8_t> left_out = drawn_tokens(input, params);
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    return left_out[t] != 0 ? TokenTerm{.clipped = true} : term_at(input, params, t);
  });
}

}  // namespace

void register_policy_loss_clip_cov(PolicyLossRegistry& registry) {
  registry.add({.name = "clip_cov",
                .help = "PPO clip; a few tokens of high covariance are left out",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high", "policy_loss.clip_cov_ratio",
                         "policy_loss.clip_cov_lb", "policy_loss.clip_cov_ub"},
                .needs_zero_advantages = true,
                .compute = compute});
}

}  // namespace verlc
