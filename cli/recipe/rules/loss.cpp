// The loss: keys that need or exclude each other.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "algorithms/policy_loss.hpp"
#include "recipe/rule.hpp"

namespace verlc {
namespace {

const PolicyLossRegistry& losses() {
  static const PolicyLossRegistry kLosses = make_policy_loss_registry();
  return kLosses;
}

const PolicyLoss& loss_of(const RuleContext& c) {
  return losses().find(c.recipe.actor.policy_loss.loss_mode, "actor.policy_loss.loss_mode");
}

// Keys that only some losses read, given to one that does not.
void idle_keys(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const PolicyLoss& loss = loss_of(c);
  std::set<std::string_view> told;
  for (const PolicyLoss& other : losses().units()) {
    for (const std::string_view key : other.keys) {
      const std::string path = "actor." + std::string(key);
      if (std::ranges::find(loss.keys, key) != loss.keys.end() || !c.problems.is_given(path)) continue;
      if (!told.insert(key).second) continue;
      c.problems.note(
          path,
          fmt::format("has no effect: actor.policy_loss.loss_mode = \"{}\" does not read it", loss.name));
    }
  }
}

void only_aggregation(const RuleContext& c) {
  const PolicyLoss& loss = loss_of(c);
  if (c.recipe.is_sft() || !loss.aggregation) return;
  const std::string only(aggregation_name(*loss.aggregation));
  if (c.recipe.actor.loss_agg_mode == only) return;
  c.problems.add("actor.loss_agg_mode", c.recipe.actor.loss_agg_mode,
                 fmt::format("must be \"{}\" with actor.policy_loss.loss_mode = \"{}\": the loss is defined "
                             "so",
                             only, loss.name),
                 fmt::format("actor.loss_agg_mode = \"{}\", or remove the key", only));
}

// Above 1 it leaves the lower side open, which only a loss without a pessimistic side means.
void open_lower_side(const RuleContext& c) {
  const ActorSection& a = c.recipe.actor;
  if (*a.clip_ratio_low <= 1 || !loss_of(c).dual_clip) return;
  c.problems.add("actor.clip_ratio_low", fmt::format("{}", *a.clip_ratio_low),
                 fmt::format("must be at most 1 with actor.policy_loss.loss_mode = \"{}\"", loss_of(c).name),
                 "actor.clip_ratio_low = 0.2");
}

void scale_factor(const RuleContext& c) {
  const ActorSection& a = c.recipe.actor;
  if (!a.loss_scale_factor || a.loss_agg_mode == "seq-mean-token-sum-norm") return;
  c.problems.add("actor.loss_scale_factor", fmt::format("{}", *a.loss_scale_factor),
                 "is read only with actor.loss_agg_mode = \"seq-mean-token-sum-norm\"",
                 "remove it, or choose that mode");
}

void clip_range(const RuleContext& c) {
  const ActorSection& a = c.recipe.actor;
  if (c.problems.is_given("actor.clip_ratio") && c.problems.is_given("actor.clip_ratio_low") &&
      c.problems.is_given("actor.clip_ratio_high") && a.clip_ratio != *a.clip_ratio_low &&
      a.clip_ratio != *a.clip_ratio_high)
    c.problems.note("actor.clip_ratio", "has no effect: clip_ratio_low and clip_ratio_high are both given");
  if (!loss_of(c).dual_clip || a.clip_ratio_c > 1 + *a.clip_ratio_high) return;
  c.problems.add("actor.clip_ratio_c", fmt::format("{}", a.clip_ratio_c),
                 "must be above 1 + clip_ratio_high: the dual clip lies outside the clip range",
                 fmt::format("above {}, e.g. 3.0", 1 + *a.clip_ratio_high));
}

void skipped_groups(const RuleContext& c) {
  const Recipe& r = c.recipe;
  if (!r.algorithm.skip_zero_advantage_groups.value_or(false) || r.is_sft()) return;
  if (loss_of(c).needs_zero_advantages) {
    c.problems.add(
        "algorithm.skip_zero_advantage_groups", "true",
        fmt::format("would change the loss: \"{}\" needs the tokens without an advantage", loss_of(c).name),
        "algorithm.skip_zero_advantage_groups = false");
    return;
  }
  const bool kl = r.has_kl_loss();
  if (!kl && r.actor.entropy_coeff == 0) return;
  c.problems.add("algorithm.skip_zero_advantage_groups", "true",
                 std::string("would drop the ") + (kl ? "KL" : "entropy") + " term of the skipped groups",
                 kl ? "false, or actor.use_kl_loss = false" : "false, or actor.entropy_coeff = 0");
}

void kl_coefficients(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const std::string idle = "is on with a coefficient of 0, so the reference is not run";
  if (c.recipe.actor.use_kl_loss && c.recipe.actor.kl_loss_coef == 0)
    c.problems.note("actor.use_kl_loss", idle);
  const AlgorithmSection& a = c.recipe.algorithm;
  if (a.use_kl_in_reward && a.kl_ctrl.kl_coef == 0) {
    if (a.kl_ctrl.type == "adaptive")
      c.problems.add("algorithm.kl_ctrl.kl_coef", "0",
                     "the adaptive coefficient is multiplied and never leaves 0",
                     "algorithm.kl_ctrl.kl_coef = 0.001");
    else
      c.problems.note("algorithm.use_kl_in_reward", idle);
  }
}

}  // namespace

void add_rules_loss(RuleSet& rules) {
  rules.push_back({"idle keys", {"actor.policy_loss.loss_mode"}, idle_keys});
  rules.push_back(
      {"only aggregation", {"actor.policy_loss.loss_mode", "actor.loss_agg_mode"}, only_aggregation});
  rules.push_back({"open lower side",
                   {"actor.policy_loss.loss_mode", "actor.clip_ratio", "actor.clip_ratio_low"},
                   open_lower_side});
  rules.push_back({"scale factor", {"actor.loss_scale_factor", "actor.loss_agg_mode"}, scale_factor});
  rules.push_back({"clip range",
                   {"actor.clip_ratio", "actor.clip_ratio_low", "actor.clip_ratio_high", "actor.clip_ratio_c",
                    "actor.policy_loss.loss_mode"},
                   clip_range});
  rules.push_back({"skipped groups",
                   {"algorithm.skip_zero_advantage_groups", "actor.kl_loss_coef", "actor.entropy_coeff",
                    "actor.policy_loss.loss_mode"},
                   skipped_groups});
  rules.push_back({"KL coefficients", {"actor.kl_loss_coef", "algorithm.kl_ctrl.kl_coef"}, kl_coefficients});
}

}  // namespace verlc
