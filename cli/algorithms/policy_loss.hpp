// Policy losses: value and hand-made derivative of one micro-batch, with respect to the log-prob of each
// token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/aggregation.hpp"
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
  std::span<const double> weights{};    ///< token_weights() of the aggregation and global counts
  uint64_t seed = 0;                    ///< of this micro-batch, for losses that draw
};

/// Recipe keys under `actor` and `actor.policy_loss`, with verl's defaults. Each loss reads its own.
struct PolicyLossParams {
  double clip_ratio_low = 0.2;
  double clip_ratio_high = 0.2;
  double clip_ratio_c = 3.0;     ///< dual clip: bound of the loss, in units of -A, where A < 0
  double tau_pos = 1.0;          ///< sapo: temperature of the gate where A > 0
  double tau_neg = 1.05;         ///< sapo: the same where A <= 0
  double clip_cov_ratio = 2e-4;  ///< clip_cov: share of the tokens that is left out
  double clip_cov_lb = 1.0;      ///< clip_cov: they are drawn from covariances above this
  double clip_cov_ub = 5.0;      ///< clip_cov: and below this
  double kl_cov_ratio = 2e-4;    ///< kl_cov: share of the tokens that is penalised
  double ppo_kl_coef = 0.1;      ///< kl_cov: weight of the penalty
  double dro_beta = 0.1;         ///< dro: weight of the squared log-ratio
};

/// One loss. `compute` is pure and reentrant: returns sum of weight x token loss, adds d loss / d logp to
/// `d_logp` [T] (loss tokens only) and appends this micro-batch's share of its metrics.
struct PolicyLoss {
  std::string_view name{};  ///< verl's name, the value of actor.policy_loss.loss_mode
  std::string_view help{};
  /// The keys under `actor` that it reads, of those that only some losses read.
  std::vector<std::string_view> keys{};
  /// Whether clip_ratio_c bounds what the clip leaves, so that it must lie outside the clip range.
  bool dual_clip = false;
  /// Whether tokens with advantage 0 have a gradient, or change that of others.
  bool needs_zero_advantages = false;
  /// The only aggregation it is defined with; actor.loss_agg_mode does not apply then.
  std::optional<Aggregation> aggregation{};
  double (*compute)(const PolicyLossInput&, const PolicyLossParams&, std::span<double> d_logp,
                    std::vector<MetricPart>& metrics) = nullptr;
};

using PolicyLossRegistry = Registry<PolicyLoss>;

/// All policy losses of this build.
PolicyLossRegistry make_policy_loss_registry();

}  // namespace verlc
