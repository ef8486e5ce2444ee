#include "pipeline/actor_update.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/rng.hpp"
#include "pipeline/balance.hpp"

namespace verlc::pipeline {

MicroLimits actor_limits(const Recipe& recipe) {
  if (recipe.actor.use_dynamic_bsz.value_or(false))
    return {0, static_cast<uint64_t>(recipe.actor.ppo_max_token_len_per_gpu)};
  return {static_cast<uint64_t>(recipe.actor.ppo_micro_batch_size_per_gpu.value_or(0)), 0};
}

MicroLimits reference_limits(const Recipe& recipe) {
  if (recipe.actor.use_dynamic_bsz.value_or(false))
    return {0, static_cast<uint64_t>(recipe.ref.log_prob_max_token_len_per_gpu.value_or(0))};
  return {static_cast<uint64_t>(recipe.ref.log_prob_micro_batch_size_per_gpu.value_or(0)), 0};
}

Schedule make_schedule(const OptimSection& optim, uint64_t total_steps) {
  Schedule schedule;
  schedule.type = optim.lr_scheduler_type;
  schedule.lr = optim.lr;
  schedule.total_steps = static_cast<int64_t>(total_steps);
  schedule.warmup_steps = optim.lr_warmup_steps.value_or(
      static_cast<int64_t>(optim.lr_warmup_steps_ratio * static_cast<double>(total_steps)));
  schedule.min_ratio = optim.min_lr_ratio;
  schedule.num_cycles = optim.num_cycles;
  return schedule;
}

std::vector<size_t> MiniBatches::places(int rank, int ranks) const {
  std::vector<size_t> mine;
  for (int64_t begin = 0; begin < batch_size_; begin += mini_) {
    const int64_t size = std::min(mini_, batch_size_ - begin);
    for (int64_t i = size * rank / ranks; i < size * (rank + 1) / ranks; ++i)
      mine.push_back(static_cast<size_t>(begin + i));
  }
  return mine;
}

ActorUpdate::ActorUpdate(const Recipe& recipe, Session& session, TrainEngine& engine, uint64_t total_steps)
    : recipe_(recipe),
      session_(session),
      engine_(engine),
      losses_(make_policy_loss_registry()),
      schedule_(make_schedule(recipe.actor.optim, total_steps)) {
  const ActorSection& actor = recipe.actor;
  params_.loss = &losses_.find(actor.policy_loss.loss_mode, "actor.policy_loss.loss_mode");
  const PolicyLossSection& policy = actor.policy_loss;
  params_.policy = {.clip_ratio_low = actor.clip_ratio_low.value_or(actor.clip_ratio),
                    .clip_ratio_high = actor.clip_ratio_high.value_or(actor.clip_ratio),
                    .clip_ratio_c = actor.clip_ratio_c,
                    .tau_pos = actor.tau_pos,
                    .tau_neg = actor.tau_neg,
                    .clip_cov_ratio = policy.clip_cov_ratio,
                    .clip_cov_lb = policy.clip_cov_lb,
                    .clip_cov_ub = policy.clip_cov_ub,
                    .kl_cov_ratio = policy.kl_cov_ratio,
                    .ppo_kl_coef = policy.ppo_kl_coef,
                    .dro_beta = policy.dro_beta};
  params_.aggregation = parse_aggregation(actor.loss_agg_mode, "actor.loss_agg_mode");
  params_.entropy_coeff = actor.entropy_coeff;
  params_.use_kl_loss = recipe.has_kl_loss();
  params_.kl_loss_coef = actor.kl_loss_coef;
  params_.kl_loss_type = parse_kl(actor.kl_loss_type, "actor.kl_loss_type");
}

void put_rollout_gap(std::span<const float> logp, std::span<const float> rollout,
                     std::span<const uint8_t> mask, Metrics& metrics) {
  double largest = 0, sum = 0, largest_logp = 0;
  size_t count = 0;
  for (size_t t = 0; t < mask.size(); ++t) {
    if (mask[t] == 0) continue;
    const double gap =
        std::abs(std::exp(static_cast<double>(logp[t])) - std::exp(static_cast<double>(rollout[t])));
    largest = std::max(largest, gap);
    largest_logp = std::max(largest_logp, std::abs(static_cast<double>(logp[t]) - rollout[t]));
    sum += gap;
    ++count;
  }
  metrics.put_max("training/rollout_probs_diff_max", largest);
  metrics.put_max("training/rollout_logp_diff_max", largest_logp);
  metrics.put_mean("training/rollout_probs_diff_mean", sum, static_cast<double>(count));
}

void ActorUpdate::micro_loss(const PackedSamples& part, const GlobalCounts& counts, verlc_micro_batch& micro,
                             uint64_t seed, bool measure_gap, Metrics& metrics) const {
  const size_t begin = micro.token_begin, count = micro.token_count;
  std::vector<int64_t> storage;
  const auto view = [&](const std::vector<float>& all) {
    return all.empty() ? std::span<const float>() : std::span<const float>(all).subspan(begin, count);
  };
  ActorLossInput input;
  input.layout = part.part(micro.sequence_begin, micro.sequence_count, storage);
  input.logp = {micro.logp, count};
  if (micro.entropy != nullptr) input.entropy = {micro.entropy, count};
  input.old_logp = view(part.old_logp);
  input.ref_logp = view(part.ref_logp);
  input.advantages = view(part.advantages);
  input.counts = counts;
  input.seed = mix_seed(seed, micro.sequence_begin);
  LossGradients gradients{{micro.d_logp, count}, {}};
  if (micro.d_entropy != nullptr) gradients.d_entropy = {micro.d_entropy, count};
  const LossResult result = actor_loss(input, params_, gradients);
  micro.loss = result.loss;
  metrics.put_parts(result.metrics);
  if (measure_gap) put_rollout_gap(input.logp, input.old_logp, input.layout.mask, metrics);
}

namespace {

// Which sequences have an advantage other than 0 at a loss token: only those add to the policy's gradient.
std::vector<uint8_t> with_advantage(const PackedSamples& part) {
  std::vector<uint8_t> some(part.num_sequences(), 0);
  for (size_t s = 0; s < some.size(); ++s)
    for (auto t = static_cast<size_t>(part.bounds[s]); t < static_cast<size_t>(part.bounds[s + 1]); ++t)
      if (part.mask[t] != 0 && part.advantages[t] != 0.0f) some[s] = 1;
  return some;
}

}  // namespace

bool ActorUpdate::needs_entropy() const {
  return recipe_.actor.calculate_entropy || recipe_.actor.entropy_coeff != 0;
}

// Only before the first update do trainer and rollout hold the same weights; with recomputed old log-probs
// the gap was measured against those.
bool ActorUpdate::measures_gap(bool first) const {
  return first && recipe_.actor.old_log_prob != "recompute";
}

// What sequences that are not trained on add to the metrics.
void ActorUpdate::measure_idle(const PackedSamples& idle, const GlobalCounts& counts, bool first,
                               Metrics& metrics) {
  std::vector<float> logp = idle.old_logp, entropy;
  // Before the first update the old log-probs are those of the weights.
  const bool known = first && !needs_entropy();
  if (!known) {
    if (needs_entropy()) entropy.resize(idle.num_tokens());
    const MicroLimits limits = actor_limits(recipe_);
    engine_.forward_logp(idle.batch(limits.sequences, limits.tokens), logp, entropy);
  }
  std::vector<float> d_logp(idle.num_tokens());
  ActorLossInput input;
  input.layout = idle.layout();
  input.logp = logp;
  input.entropy = entropy;
  input.old_logp = idle.old_logp;
  input.advantages = idle.advantages;
  input.counts = counts;
  metrics.put_parts(actor_loss(input, params_, {d_logp, {}}).metrics);
  if (!known && measures_gap(first)) put_rollout_gap(logp, idle.old_logp, idle.mask, metrics);
}

MetricValues ActorUpdate::one_step(const PackedSamples& part, uint64_t step, uint64_t update) {
  const bool first = update == 0;
  const uint64_t seed = mix_seed(mix_seed(mix_seed(static_cast<uint64_t>(recipe_.seed), step), update),
                                 static_cast<uint64_t>(session_.rank().rank));
  Metrics metrics;
  GlobalCounts counts = reduce_counts(count_loss_tokens(part.layout()), session_.reducer());
  counts.norm_constant =
      recipe_.actor.loss_scale_factor.value_or(static_cast<double>(recipe_.data.max_response_length)) *
      static_cast<double>(recipe_.actor.ppo_mini_batch_size * recipe_.rollout.n);
  if (counts.tokens == 0) return {};  // nothing to learn from, on any rank
  // A rank without tokens has no entropy to tell of.
  if (needs_entropy()) metrics.declare("actor/entropy", MetricKind::sum);
  const bool skip = recipe_.algorithm.skip_zero_advantage_groups.value_or(false);
  PackedSamples trained;
  if (skip) {
    std::vector<uint8_t> chosen = with_advantage(part);
    trained = select(part, chosen);
    for (uint8_t& keep : chosen) keep = keep == 0 ? 1 : 0;
    measure_idle(select(part, chosen), counts, first, metrics);
  }
  const PackedSamples& used = skip ? trained : part;
  const MicroLimits limits = even_limits(actor_limits(recipe_), used, session_.reducer());
  engine_.forward_backward(
      used.batch(limits.sequences, limits.tokens), needs_entropy(),
      [&](verlc_micro_batch& micro) { micro_loss(used, counts, micro, seed, measures_gap(first), metrics); });
  const double lr = learning_rate(schedule_, static_cast<int64_t>(step));
  const OptimizerResult result = engine_.optimizer_step(lr, recipe_.actor.optim.clip_grad);
  metrics.put_last("actor/lr", lr);
  metrics.put_mean("actor/grad_norm", result.skipped ? 0.0 : result.grad_norm);
  metrics.put_mean("actor/skipped_updates", result.skipped ? 1.0 : 0.0);
  return metrics.reduce(session_.reducer());
}

MetricValues ActorUpdate::run(uint64_t step, const PackedSamples& batch, std::span<const int64_t> mini,
                              int64_t num_mini) {
  std::vector<uint32_t> order(static_cast<size_t>(num_mini));
  std::iota(order.begin(), order.end(), 0u);
  std::vector<MetricValues> updates;
  for (int64_t epoch = 0; epoch < recipe_.actor.ppo_epochs; ++epoch) {
    if (recipe_.actor.shuffle) {
      RandomStream random(static_cast<uint64_t>(recipe_.actor.data_loader_seed), Purpose::minibatch, step,
                          static_cast<uint64_t>(epoch));
      shuffle(order, random);
    }
    for (const uint32_t m : order) {
      const auto begin = std::lower_bound(mini.begin(), mini.end(), int64_t{m});
      const auto end = std::upper_bound(mini.begin(), mini.end(), int64_t{m});
      const PackedSamples part =
          slice(batch, static_cast<size_t>(begin - mini.begin()), static_cast<size_t>(end - mini.begin()));
      updates.push_back(one_step(part, step, updates.size()));
    }
  }
  return mean_of(updates);
}

}  // namespace verlc::pipeline
