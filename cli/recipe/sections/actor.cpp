#include "recipe/sections/actor.hpp"

#include "algorithms/kl.hpp"
#include "algorithms/policy_loss.hpp"

namespace verlc {
namespace {

void batch_fields(ActorSection& s, FieldVisitor& v) {
  v.field(&s.strategy, {.key = "strategy", .help = "training engine, by name"});
  v.field(&s.ppo_mini_batch_size,
          {.key = "ppo_mini_batch_size",
           .min = 0,
           .max = 1 << 24,
           .help = "prompts per optimizer step, all ranks; 0 = data.train_batch_size"});
  v.field(&s.ppo_micro_batch_size_per_gpu, {.key = "ppo_micro_batch_size_per_gpu",
                                            .min = 1,
                                            .max = 1 << 24,
                                            .unset = "micro-batches are cut by ppo_max_token_len_per_gpu",
                                            .help = "sequences per forward and backward pass of a rank"});
  v.field(&s.use_dynamic_bsz, {.key = "use_dynamic_bsz",
                               .unset = "true unless ppo_micro_batch_size_per_gpu is given",
                               .help = "cut micro-batches by a token budget instead of a sequence count"});
  v.field(&s.ppo_max_token_len_per_gpu,
          {.key = "ppo_max_token_len_per_gpu",
           .min = 1,
           .help = "token budget of a micro-batch of a rank with use_dynamic_bsz"});
  v.field(&s.ppo_epochs,
          {.key = "ppo_epochs", .min = 1, .max = 1000, .help = "passes over each rollout batch"});
  v.field(&s.shuffle, {.key = "shuffle", .help = "shuffle the rollout batch before cutting mini-batches"});
  v.field(&s.data_loader_seed, {.key = "data_loader_seed", .min = 0, .help = "seed of that shuffle"});
}

void loss_fields(ActorSection& s, FieldVisitor& v) {
  v.field(&s.clip_ratio, {.key = "clip_ratio",
                          .min = 0,
                          .max = 1,
                          .above_min = true,
                          .help = "PPO clip range, both sides unless given apart"});
  v.field(&s.clip_ratio_low, {.key = "clip_ratio_low",
                              .min = 0,
                              .above_min = true,
                              .unset = "clip_ratio",
                              .help = "the ratio is clipped at 1 - this"});
  v.field(&s.clip_ratio_high, {.key = "clip_ratio_high",
                               .min = 0,
                               .above_min = true,
                               .unset = "clip_ratio",
                               .help = "the ratio is clipped at 1 + this"});
  v.field(
      &s.clip_ratio_c,
      {.key = "clip_ratio_c", .min = 1, .above_min = true, .help = "dual clip: largest ratio where A < 0"});
  v.field(
      &s.tau_pos,
      {.key = "tau_pos", .min = 0, .above_min = true, .help = "sapo: temperature of the gate where A > 0"});
  v.field(&s.tau_neg, {.key = "tau_neg", .min = 0, .above_min = true, .help = "sapo: the same where A <= 0"});
  v.field(&s.loss_agg_mode,
          {.key = "loss_agg_mode",
           .choices = {"token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"},
           .help = "how token losses become one number, over global counts"});
  v.field(&s.loss_scale_factor,
          {.key = "loss_scale_factor",
           .min = 0,
           .above_min = true,
           .unset = "data.max_response_length with seq-mean-token-sum-norm, else unused",
           .help = "the constant divisor of seq-mean-token-sum-norm"});
  v.field(&s.entropy_coeff,
          {.key = "entropy_coeff", .min = 0, .help = "weight of the entropy bonus; 0 = off"});
  v.field(&s.calculate_entropy,
          {.key = "calculate_entropy",
           .help = "report actor/entropy; without it and an entropy bonus the entropy is not computed"});
  v.field(&s.use_kl_loss, {.key = "use_kl_loss", .help = "add the KL to the reference model to the loss"});
  v.field(&s.kl_loss_coef, {.key = "kl_loss_coef", .min = 0, .help = "its weight"});
  static const std::vector<std::string> kEstimators = kl_names();
  v.field(&s.kl_loss_type, {.key = "kl_loss_type",
                            .choices = {kEstimators.begin(), kEstimators.end()},
                            .help = "its estimator; kl = k1, mse = k2, low_var_kl = k3; with a + it has the "
                                    "gradient of k2, which is the KL's own on-policy"});
  v.field(&s.old_log_prob,
          {.key = "old_log_prob",
           .choices = {"reuse", "recompute", "verify"},
           .help = "take the rollout's log-probs as the old ones, recompute them, or recompute and "
                   "stop at any difference"});
  v.field(&s.use_prefix_grouper,
          {.key = "use_prefix_grouper",
           .help = "compute the prompt of a group once for all its samples, forward and backward, in the "
                   "actor and the reference; exact: log-probs are the same bits. The token budgets of "
                   "micro-batches then count what is computed"});
}

}  // namespace

void PolicyLossSection::fields(FieldVisitor& v) {
  static const PolicyLossRegistry kLosses = make_policy_loss_registry();
  static const std::string kHelp = describe_units(kLosses);
  v.field(&loss_mode, {.key = "loss_mode", .choices = name_views(kLosses), .help = kHelp});
  v.field(&clip_cov_ratio, {.key = "clip_cov_ratio",
                            .min = 0,
                            .max = 1,
                            .help = "clip_cov: share of the tokens that is left out; at least one"});
  v.field(&clip_cov_lb, {.key = "clip_cov_lb", .help = "clip_cov: drawn from covariances above this"});
  v.field(&clip_cov_ub, {.key = "clip_cov_ub", .help = "clip_cov: and below this"});
  v.field(&kl_cov_ratio, {.key = "kl_cov_ratio",
                          .min = 0,
                          .max = 1,
                          .help = "kl_cov: share of the tokens that is penalised; at least one"});
  v.field(&ppo_kl_coef, {.key = "ppo_kl_coef", .min = 0, .help = "kl_cov: weight of the penalty"});
  v.field(&dro_beta, {.key = "dro_beta", .min = 0, .help = "dro: weight of the squared log-ratio"});
}

void CheckpointSection::fields(FieldVisitor& v) {
  v.field(&max_ckpt_to_keep,
          {.key = "max_ckpt_to_keep", .min = 0, .help = "newest checkpoints kept; 0 = all"});
}

void ActorSection::fields(FieldVisitor& v) {
  batch_fields(*this, v);
  loss_fields(*this, v);
  v.section(policy_loss, "policy_loss", "which policy loss");
  v.section(optim, "optim", "optimizer and learning rate");
  v.section(fsdp_config, "fsdp_config", "sharding of the policy");
  v.section(checkpoint, "checkpoint", "what is kept on disk");
}

}  // namespace verlc
