// Truncated importance weights between the policy that sampled and the policy that trains (rollout
// correction).
#pragma once

#include <span>
#include <vector>

#include "algorithms/packed.hpp"

namespace verlc {

/// token: min(exp(old - rollout), C) each; sequence: min(exp(sum over the sequence's loss tokens), C) on all
/// of them.
enum class ImportanceLevel { token, sequence };

/// Weights [T] for PolicyLossInput::is_weights: constants that multiply token losses and never enter the
/// clipped ratio (traps T22). Log-ratios are clamped to +-20; 0 at masked slots. `cap` is C > 0.
std::vector<float> importance_weights(ImportanceLevel level, const PackedLayout& layout,
                                      std::span<const float> old_logp, std::span<const float> rollout_logp,
                                      double cap);

}  // namespace verlc
