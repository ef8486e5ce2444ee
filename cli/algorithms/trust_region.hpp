// Losses that leave out tokens outside a trust region and weight the others by a truncated, constant ratio.
#pragma once

#include "algorithms/token_terms.hpp"

namespace verlc {

struct TrustRegionToken {
  double advantage, prob, old_prob, log_ratio;
};

/// -A min(ratio, clip_ratio_c) log pi of the tokens that inside(token, params) keeps; 0 for the rest.
template <typename Inside>
double trust_region_loss(const PolicyLossInput& input, const PolicyLossParams& params,
                         std::span<double> d_logp, std::vector<MetricPart>& metrics, Inside inside) {
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double logp = input.logp[t];
    const double log_ratio = log_ratio_at(input, t);
    const TrustRegionToken token{input.advantages[t], std::exp(logp), std::exp(input.old_logp[t]), log_ratio};
    if (!inside(token, params)) return TokenTerm{.clipped = true};
    const double ratio = ratio_of(log_ratio).value;
    const double weight = -token.advantage * std::min(ratio, params.clip_ratio_c);
    return TokenTerm{.value = weight * logp, .d_logp = weight, .clipped_lower = ratio > params.clip_ratio_c};
  });
}

}  // namespace verlc
