#include "recipe/sections/algorithm.hpp"

#include "algorithms/advantage.hpp"

namespace verlc {

void KlControlSection::fields(FieldVisitor& v) {
  v.field(&type, {.key = "type",
                  .choices = {"fixed", "adaptive"},
                  .help = "keep the coefficient, or steer it towards target_kl"});
  v.field(&kl_coef,
          {.key = "kl_coef", .min = 0, .help = "coefficient of the KL term in the reward (its start value)"});
  v.field(&horizon,
          {.key = "horizon", .min = 1, .help = "adaptive: samples over which the coefficient moves"});
  v.field(&target_kl, {.key = "target_kl", .min = 0, .above_min = true, .help = "adaptive: the KL aimed at"});
}

namespace {

/// Estimators whose needs this build can meet.
std::vector<std::string_view> usable(const AdvantageRegistry& registry) {
  std::vector<std::string_view> names;
  for (const Advantage& unit : registry.units())
    if (!unit.needs_values && !unit.needs_baselines) names.push_back(unit.name);
  return names;
}

}  // namespace

void AlgorithmSection::fields(FieldVisitor& v) {
  static const AdvantageRegistry kEstimators = make_advantage_registry();
  static const std::string kHelp = describe_units(kEstimators);
  v.field(&name,
          {.key = "name", .choices = {"grpo", "sft"}, .help = "reinforcement or supervised fine-tuning"});
  v.field(&adv_estimator,
          {.key = "adv_estimator",
           .choices = usable(kEstimators),
           .choice_reason = "gae needs a critic and remax greedy responses, which no stage makes yet",
           .help = kHelp});
  v.field(&gamma, {.key = "gamma",
                   .min = 0,
                   .max = 1,
                   .help = "discount of each later token, for estimators with rewards to go"});
  v.field(&norm_adv_by_std_in_grpo,
          {.key = "norm_adv_by_std_in_grpo", .help = "divide by the group's std; false = Dr. GRPO"});
  v.field(&advantage_ddof, {.key = "advantage_ddof",
                            .choices = {"0", "1"},
                            .help = "1 = sample std (verl, TRL), 0 = population std"});
  v.field(&advantage_epsilon, {.key = "advantage_epsilon",
                               .min = 0,
                               .max = 1,
                               .above_min = true,
                               .help = "added to the group's std"});
  v.field(
      &skip_zero_advantage_groups,
      {.key = "skip_zero_advantage_groups",
       .unset = "true without a KL loss and an entropy bonus",
       .help = "run no backward for groups whose rewards are all equal, and their forward only for metrics "
               "(see actor.calculate_entropy); exact, as only a KL loss or an entropy bonus needs them"});
  v.field(&use_kl_in_reward,
          {.key = "use_kl_in_reward",
           .help = "subtract kl_ctrl's coefficient times the KL from each token's reward"});
  v.field(&kl_penalty, {.key = "kl_penalty",
                        .choices = {"kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"},
                        .help = "KL estimator in the reward; kl = k1, mse = k2, low_var_kl = k3"});
  v.section(kl_ctrl, "kl_ctrl", "coefficient of the KL term in the reward");
}

}  // namespace verlc
