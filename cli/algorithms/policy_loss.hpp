// Policy losses: value and hand-made derivative of one micro-batch, with respect to the log-prob of each
// token.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "algorithms/metric_part.hpp"
#include "algorithms/packed.hpp"
#include "algorithms/registry.hpp"

namespace verlc {

/// Log-ratios are clamped to this on both sides before exp.
inline constexpr double kMaxLogRatio = 20.0;

/// One micro-batch of whole sequences. Views of the caller's memory, all [T] in packed order.
struct PolicyLossInput {
  PackedLayout layout{};
  std::span<const float> logp{};      ///< of the policy being trained
  std::span<const float> old_logp{};  ///< of the policy that sampled (or of its recomputation)
  std::span<const float> advantages{};
  std::span<const float> is_weights{};  ///< detached rollout-correction weights; empty means 1 everywhere
  std::span<const double> weights{};    ///< token_weights() of the recipe's aggregation and global counts
};

/// Recipe keys under `actor`, with verl's defaults. Each loss reads its own.
struct PolicyLossParams {
  double clip_ratio_low = 0.2;
  double clip_ratio_high = 0.2;
  double clip_ratio_c = 3.0;  ///< dual clip: bound of the loss, in units of -A, where A < 0
};

/// One loss. `compute` is pure and reentrant: returns sum of weight x token loss, adds d loss / d logp to
/// `d_logp` [T] (loss tokens only) and appends this micro-batch's share of its metrics.
struct PolicyLoss {
  std::string_view name{};  ///< verl's name, the value of actor.policy_loss.loss_mode
  double (*compute)(const PolicyLossInput&, const PolicyLossParams&, std::span<double> d_logp,
                    std::vector<MetricPart>& metrics) = nullptr;
};

using PolicyLossRegistry = Registry<PolicyLoss>;

/// All policy losses of this build.
PolicyLossRegistry make_policy_loss_registry();

}  // namespace verlc
