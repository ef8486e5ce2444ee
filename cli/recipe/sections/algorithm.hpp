// [algorithm]: what is optimised: estimator, group normalisation, KL in the reward.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

/// [algorithm.kl_ctrl]: the coefficient of the KL term in the reward.
struct KlControlSection {
  std::string type = "fixed";  ///< fixed | adaptive
  double kl_coef = 0.001;
  int64_t horizon = 10000;  ///< adaptive: samples
  double target_kl = 0.1;   ///< adaptive

  void fields(FieldVisitor& visitor);
  bool operator==(const KlControlSection&) const = default;
};

struct AlgorithmSection {
  std::string name = "grpo";  ///< grpo | sft
  std::string adv_estimator = "grpo";
  double gamma = 1.0;
  bool norm_adv_by_std_in_grpo = true;
  int64_t advantage_ddof = 1;  ///< 1 = sample, 0 = population standard deviation
  double advantage_epsilon = 1e-6;
  std::optional<bool> skip_zero_advantage_groups;  ///< always set after loading
  bool use_kl_in_reward = false;
  std::string kl_penalty = "kl";  ///< kl | k1 | abs | mse | k2 | low_var_kl | k3
  KlControlSection kl_ctrl;

  void fields(FieldVisitor& visitor);
  bool operator==(const AlgorithmSection&) const = default;
};

}  // namespace verlc
