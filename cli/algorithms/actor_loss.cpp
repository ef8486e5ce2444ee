#include "algorithms/actor_loss.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace verlc {
namespace {

// Aggregated KL; its derivative, times the coefficient, is added to `d_logp`.
double add_kl(const ActorLossInput& input, const ActorLossParams& params, std::span<const double> weights,
              std::span<double> d_logp) {
  check(input.ref_logp.size() == d_logp.size(), "a KL loss has reference log-probs");
  double total = 0.0;
  for (size_t t = 0; t < d_logp.size(); ++t) {
    if (input.layout.mask[t] == 0) continue;
    const KlTerm term = kl_term(params.kl_loss_type, input.logp[t], input.ref_logp[t]);
    total += weights[t] * term.value;
    d_logp[t] += params.kl_loss_coef * weights[t] * term.d_logp;
  }
  return total;
}

// Aggregated entropy; the derivative of -coefficient x entropy is written to `d_entropy`.
double add_entropy(const ActorLossInput& input, double coefficient, std::span<const double> weights,
                   std::span<float> d_entropy) {
  check(input.entropy.size() == weights.size(), "one entropy per token");
  check(coefficient == 0.0 || d_entropy.size() == weights.size(),
        "an entropy bonus has somewhere to put its gradient");
  double total = 0.0;
  for (size_t t = 0; t < weights.size(); ++t) {
    if (input.layout.mask[t] == 0) continue;
    total += weights[t] * static_cast<double>(input.entropy[t]);
    if (coefficient != 0.0) d_entropy[t] = static_cast<float>(-coefficient * weights[t]);
  }
  return total;
}

}  // namespace

LossResult actor_loss(const ActorLossInput& input, const ActorLossParams& params, LossGradients gradients) {
  check(params.loss != nullptr, "an actor has a policy loss");
  const Aggregation aggregation = params.loss->aggregation.value_or(params.aggregation);
  const std::vector<double> weights = token_weights(aggregation, input.layout, input.counts);
  const size_t tokens = weights.size();
  check(gradients.d_logp.size() == tokens, "one derivative per token");
  std::vector<double> d_logp(tokens, 0.0);
  std::fill(gradients.d_entropy.begin(), gradients.d_entropy.end(), 0.0F);

  LossResult result;
  result.loss = params.loss->compute({.layout = input.layout,
                                      .logp = input.logp,
                                      .old_logp = input.old_logp,
                                      .advantages = input.advantages,
                                      .is_weights = input.is_weights,
                                      .weights = weights,
                                      .seed = input.seed},
                                     params.policy, d_logp, result.metrics);
  if (params.use_kl_loss) {
    const double kl = add_kl(input, params, weights, d_logp);
    result.loss += params.kl_loss_coef * kl;
    result.metrics.push_back({.name = "actor/kl_loss", .total = kl});
  }
  if (!input.entropy.empty() || params.entropy_coeff != 0.0) {
    const double entropy = add_entropy(input, params.entropy_coeff, weights, gradients.d_entropy);
    result.loss -= params.entropy_coeff * entropy;
    result.metrics.push_back({.name = "actor/entropy", .total = entropy});
  }
  std::transform(d_logp.begin(), d_logp.end(), gradients.d_logp.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

LossResult sft_loss(const PackedLayout& layout, std::span<const float> logp, const GlobalCounts& counts,
                    std::span<float> d_logp) {
  const std::vector<double> weights = token_weights(Aggregation::token_mean, layout, counts);
  check(logp.size() == weights.size() && d_logp.size() == weights.size(), "one log-prob per token");
  LossResult result;
  for (size_t t = 0; t < weights.size(); ++t) {
    d_logp[t] = 0.0F;
    if (layout.mask[t] == 0) continue;
    result.loss -= weights[t] * static_cast<double>(logp[t]);
    d_logp[t] = static_cast<float>(-weights[t]);
  }
  result.metrics.push_back({.name = "train/loss", .total = result.loss});
  return result;
}

}  // namespace verlc
