// [actor]: the policy's update.
#pragma once

#include "recipe/sections/fsdp_config.hpp"
#include "recipe/sections/optim.hpp"

namespace verlc {

/// [actor.policy_loss]
struct PolicyLossSection {
  std::string loss_mode = "vanilla";
  double clip_cov_ratio = 2e-4;
  double clip_cov_lb = 1.0;
  double clip_cov_ub = 5.0;
  double kl_cov_ratio = 2e-4;
  double ppo_kl_coef = 0.1;
  double dro_beta = 0.1;

  void fields(FieldVisitor& visitor);
  bool operator==(const PolicyLossSection&) const = default;
};

/// [actor.checkpoint]
struct CheckpointSection {
  int64_t max_ckpt_to_keep = 0;  ///< 0 = all

  void fields(FieldVisitor& visitor);
  bool operator==(const CheckpointSection&) const = default;
};

struct ActorSection {
  std::string strategy = "fsdp";    ///< name of the training engine
  int64_t ppo_mini_batch_size = 0;  ///< prompts per optimizer step, all ranks; after loading never 0
  std::optional<int64_t>
      ppo_micro_batch_size_per_gpu;           ///< sequences; set exactly when use_dynamic_bsz is false
  std::optional<bool> use_dynamic_bsz;        ///< always set after loading
  int64_t ppo_max_token_len_per_gpu = 16384;  ///< token budget of a micro-batch with use_dynamic_bsz
  int64_t ppo_epochs = 1;
  bool shuffle = false;
  int64_t data_loader_seed = 42;
  double clip_ratio = 0.2;
  std::optional<double> clip_ratio_low;   ///< always set after loading
  std::optional<double> clip_ratio_high;  ///< always set after loading
  double clip_ratio_c = 3.0;
  double tau_pos = 1.0;
  double tau_neg = 1.05;
  std::string loss_agg_mode = "token-mean";  ///< after loading that of a loss which has only one
  std::optional<double> loss_scale_factor;   ///< seq-mean-token-sum-norm only
  double entropy_coeff = 0.0;
  bool calculate_entropy = true;
  bool use_kl_loss = false;
  double kl_loss_coef = 0.001;
  std::string kl_loss_type = "low_var_kl";
  std::string old_log_prob = "reuse";  ///< reuse | recompute | verify
  bool use_prefix_grouper = true;      ///< also of the reference
  PolicyLossSection policy_loss;
  OptimSection optim;
  FsdpConfigSection fsdp_config;
  CheckpointSection checkpoint;

  void fields(FieldVisitor& visitor);
  bool operator==(const ActorSection&) const = default;
};

}  // namespace verlc
