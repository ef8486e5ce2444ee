// What most policy losses are: a sum of one term for each loss token.
#pragma once

#include <algorithm>
#include <cmath>

#include "algorithms/policy_loss.hpp"
#include "core/base/check.hpp"

namespace verlc {

/// A token's loss before aggregation, its derivative with respect to the token's log-prob, and whether a
/// bound holds it there.
struct TokenTerm {
  double value = 0.0;
  double d_logp = 0.0;
  bool clipped = false;        ///< counts for actor/pg_clipfrac
  bool clipped_lower = false;  ///< counts for actor/pg_clipfrac_lower
};

/// exp of a log-ratio held within +-kMaxLogRatio; outside it does not move with the log-prob.
struct Ratio {
  double value = 1.0;
  bool moves = true;
};
inline Ratio ratio_of(double log_ratio) {
  const double held = std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio);
  return {std::exp(held), held == log_ratio};
}

/// log(pi / pi_old) of token t.
inline double log_ratio_at(const PolicyLossInput& input, size_t t) {
  return static_cast<double>(input.logp[t]) - static_cast<double>(input.old_logp[t]);
}
/// What multiplies the term of token t: aggregation and rollout correction.
inline double scale_at(const PolicyLossInput& input, size_t t) {
  return input.weights[t] * (input.is_weights.empty() ? 1.0 : static_cast<double>(input.is_weights[t]));
}
/// Stops the process when spans do not fit each other: they come from our own packing.
inline void check_policy_input(const PolicyLossInput& input, std::span<const double> d_logp) {
  const size_t tokens = input.layout.num_tokens();
  check(input.logp.size() == tokens && input.old_logp.size() == tokens && input.advantages.size() == tokens &&
            input.weights.size() == tokens && d_logp.size() == tokens,
        "one value per token");
}

/// Sums term(t) over loss tokens, adds derivatives to `d_logp`, and appends actor/pg_loss, pg_clipfrac,
/// pg_clipfrac_lower and ppo_kl (the mean of -log-ratio).
template <typename Term>
double sum_token_terms(const PolicyLossInput& input, std::span<double> d_logp,
                       std::vector<MetricPart>& metrics, Term term) {
  check_policy_input(input, d_logp);
  double loss = 0.0, count = 0.0, clipped = 0.0, clipped_lower = 0.0, kl = 0.0;
  for (size_t t = 0; t < d_logp.size(); ++t) {
    if (input.layout.mask[t] == 0) continue;
    const double scale = scale_at(input, t);
    const TokenTerm token = term(t);
    loss += scale * token.value;
    d_logp[t] += scale * token.d_logp;
    count += 1.0;
    clipped += token.clipped ? 1.0 : 0.0;
    clipped_lower += token.clipped_lower ? 1.0 : 0.0;
    kl -= log_ratio_at(input, t);
  }
  const auto mean = [&](std::string_view name, double total) {
    metrics.push_back({.name = name, .kind = MetricPart::Kind::mean, .total = total, .weight = count});
  };
  metrics.push_back({.name = "actor/pg_loss", .total = loss});
  mean("actor/pg_clipfrac", clipped);
  mean("actor/pg_clipfrac_lower", clipped_lower);
  mean("actor/ppo_kl", kl);
  return loss;
}

/// The pessimistic one of -A r and -A clip(r, 1 - low, 1 + high), for a ratio r that grows with the log-prob
/// as r itself does (d r / d logp = r) where `moves`.
inline TokenTerm clipped_surrogate(Ratio ratio, double advantage, const PolicyLossParams& params) {
  const double plain = -advantage * ratio.value;
  const double bounded =
      -advantage * std::clamp(ratio.value, 1.0 - params.clip_ratio_low, 1.0 + params.clip_ratio_high);
  TokenTerm token;
  token.clipped = bounded > plain;
  token.value = std::max(plain, bounded);
  // Only the unclipped branch moves with logp.
  if (!token.clipped && ratio.moves) token.d_logp = plain;
  return token;
}

}  // namespace verlc
