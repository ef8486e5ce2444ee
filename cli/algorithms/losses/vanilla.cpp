// PPO's clipped surrogate (Schulman et al., 2017) with a bound for negative advantages (dual clip, Ye et al.,
// 2020).
#include <algorithm>
#include <cmath>

#include "algorithms/policy_loss.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

struct TokenLoss {
  double value = 0.0;
  double d_logp = 0.0;
  bool clipped = false;
  bool clipped_lower = false;
};

TokenLoss token_loss(double log_ratio, double advantage, const PolicyLossParams& params) {
  const double clamped = std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio);
  const double ratio = std::exp(clamped);
  const double plain = -advantage * ratio;
  const double bounded =
      -advantage * std::clamp(ratio, 1.0 - params.clip_ratio_low, 1.0 + params.clip_ratio_high);
  TokenLoss token;
  token.clipped = bounded > plain;
  token.value = std::max(plain, bounded);
  if (advantage < 0.0) {
    const double floor = -advantage * params.clip_ratio_c;
    token.clipped_lower = token.value > floor;
    token.value = std::min(token.value, floor);
  }
  // Only the unclipped branch moves with logp: the other two are constants of it.
  if (!token.clipped && !token.clipped_lower && clamped == log_ratio) token.d_logp = plain;
  return token;
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  const size_t tokens = input.layout.num_tokens();
  check(input.logp.size() == tokens && input.old_logp.size() == tokens && input.advantages.size() == tokens &&
            input.weights.size() == tokens && d_logp.size() == tokens,
        "one value per token");
  double loss = 0.0, count = 0.0, clipped = 0.0, clipped_lower = 0.0, kl = 0.0;
  for (size_t t = 0; t < tokens; ++t) {
    if (input.layout.mask[t] == 0) continue;
    const double log_ratio = static_cast<double>(input.logp[t]) - static_cast<double>(input.old_logp[t]);
    const double scale =
        input.weights[t] * (input.is_weights.empty() ? 1.0 : static_cast<double>(input.is_weights[t]));
    const TokenLoss token = token_loss(log_ratio, input.advantages[t], params);
    loss += scale * token.value;
    d_logp[t] += scale * token.d_logp;
    count += 1.0;
    clipped += token.clipped ? 1.0 : 0.0;
    clipped_lower += token.clipped_lower ? 1.0 : 0.0;
    kl -= log_ratio;
  }
  metrics.push_back({.name = "actor/pg_loss", .total = loss});
  metrics.push_back(
      {.name = "actor/pg_clipfrac", .kind = MetricPart::Kind::mean, .total = clipped, .weight = count});
  metrics.push_back({.name = "actor/pg_clipfrac_lower",
                     .kind = MetricPart::Kind::mean,
                     .total = clipped_lower,
                     .weight = count});
  metrics.push_back({.name = "actor/ppo_kl", .kind = MetricPart::Kind::mean, .total = kl, .weight = count});
  return loss;
}

}  // namespace

void register_policy_loss_vanilla(PolicyLossRegistry& registry) {
  registry.add({.name = "vanilla", .compute = compute});
}

}  // namespace verlc
