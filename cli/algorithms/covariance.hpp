// How much a token's update lowers the entropy: the covariance of advantage and log-prob (Cui et al., "The
// entropy mechanism of reinforcement learning for reasoning language models", 2025).
#pragma once

#include <vector>

#include "algorithms/policy_loss.hpp"

namespace verlc {

struct TokenCovariance {
  size_t token;
  double value;  ///< (A - mean A) (log pi - mean log pi)
};

/// Of the loss tokens, in order. The means are those of this micro-batch, as in verl: log-probs of the others
/// are not known when it is trained.
std::vector<TokenCovariance> token_covariances(const PolicyLossInput& input);

/// How many tokens a share of `tokens` is: at least one.
size_t share_of(const std::vector<TokenCovariance>& tokens, double ratio);

}  // namespace verlc
