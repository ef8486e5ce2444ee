// The actor's whole loss of a micro-batch: policy loss + coefficient x KL to the reference - coefficient x
// entropy; and the loss of supervised fine-tuning.
#pragma once

#include <span>
#include <vector>

#include "algorithms/aggregation.hpp"
#include "algorithms/kl.hpp"
#include "algorithms/metric_part.hpp"
#include "algorithms/policy_loss.hpp"

namespace verlc {

/// Recipe keys under `actor`. `loss` points into a registry that outlives this struct.
struct ActorLossParams {
  const PolicyLoss* loss = nullptr;
  PolicyLossParams policy{};
  Aggregation aggregation = Aggregation::token_mean;
  double entropy_coeff = 0.0;
  bool use_kl_loss = false;
  double kl_loss_coef = 0.001;
  KlEstimator kl_loss_type{.kind = KlKind::k3};
};

/// One micro-batch of whole sequences; every span is [T] in packed order, or empty where it is not needed.
struct ActorLossInput {
  PackedLayout layout{};
  std::span<const float> logp{};
  std::span<const float> entropy{};  ///< may be empty when entropy_coeff is 0
  std::span<const float> old_logp{};
  std::span<const float> ref_logp{};  ///< may be empty without use_kl_loss
  std::span<const float> advantages{};
  std::span<const float> is_weights{};  ///< may be empty
  GlobalCounts counts{};                ///< of the whole optimiser step, all ranks
  uint64_t seed = 0;                    ///< of this micro-batch, for losses that draw
};

/// Where derivatives go, [T] each, overwritten; exactly 0 at masked slots. `d_entropy` may be empty.
struct LossGradients {
  std::span<float> d_logp{};
  std::span<float> d_entropy{};
};

/// This micro-batch's share: the loss of the step is the sum over micro-batches and ranks.
struct LossResult {
  double loss = 0.0;
  std::vector<MetricPart> metrics{};
};

/// Metrics: the policy loss's own, actor/entropy (aggregated like the loss) where entropy is given,
/// actor/kl_loss with use_kl_loss. A batch whose global count is 0 gives loss 0 and zero derivatives. Pure
/// and reentrant.
LossResult actor_loss(const ActorLossInput& input, const ActorLossParams& params, LossGradients gradients);

/// Supervised fine-tuning: token-mean of -logp over loss tokens, N = counts.tokens. Metric train/loss.
LossResult sft_loss(const PackedLayout& layout, std::span<const float> logp, const GlobalCounts& counts,
                    std::span<float> d_logp);

}  // namespace verlc
