#include "algorithms/covariance.hpp"

#include <algorithm>

namespace verlc {

std::vector<TokenCovariance> token_covariances(const PolicyLossInput& input) {
  double advantage = 0.0, logp = 0.0, count = 0.0;
  for (size_t t = 0; t < input.layout.num_tokens(); ++t) {
    if (input.layout.mask[t] == 0) continue;
    advantage += input.advantages[t];
    logp += input.logp[t];
    count += 1.0;
  }
  std::vector<TokenCovariance> tokens;
  for (size_t t = 0; t < input.layout.num_tokens(); ++t) {
    if (input.layout.mask[t] == 0) continue;
    tokens.push_back({t, (input.advantages[t] - advantage / count) * (input.logp[t] - logp / count)});
  }
  return tokens;
}

size_t share_of(const std::vector<TokenCovariance>& tokens, double ratio) {
  return std::max<size_t>(1, static_cast<size_t>(ratio * static_cast<double>(tokens.size())));
}

}  // namespace verlc
