// The advantage estimator: what it needs of the rollout, and keys that it does not read.
#include <fmt/format.h>

#include "algorithms/advantage.hpp"
#include "recipe/rule.hpp"

namespace verlc {
namespace {

const Advantage& estimator_of(const RuleContext& c) {
  static const AdvantageRegistry kEstimators = make_advantage_registry();
  return kEstimators.find(c.recipe.algorithm.adv_estimator, "algorithm.adv_estimator");
}

void group_of_one(const RuleContext& c) {
  const Advantage& estimator = estimator_of(c);
  if (c.recipe.is_sft() || !estimator.needs_groups || c.recipe.rollout.n >= 2) return;
  c.problems.add(
      "rollout.n", fmt::format("{}", c.recipe.rollout.n),
      fmt::format("must be at least 2 with algorithm.adv_estimator = \"{}\": a group of one has no "
                  "baseline",
                  estimator.name),
      "rollout.n = 8");
}

void idle_keys(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const Advantage& estimator = estimator_of(c);
  const auto tell = [&](const char* key, bool read) {
    const std::string path = std::string("algorithm.") + key;
    if (!read && c.problems.is_given(path))
      c.problems.note(path, fmt::format("has no effect: algorithm.adv_estimator = \"{}\" does not read it",
                                        estimator.name));
  };
  tell("norm_adv_by_std_in_grpo", estimator.normalises_groups);
  tell("advantage_ddof", estimator.normalises_groups);
  tell("advantage_epsilon", estimator.normalises_groups);
  tell("gamma", estimator.discounts);
}

}  // namespace

void add_rules_estimator(RuleSet& rules) {
  rules.push_back({"group of one", {"rollout.n", "algorithm.name", "algorithm.adv_estimator"}, group_of_one});
  rules.push_back({"idle estimator keys", {"algorithm.adv_estimator"}, idle_keys});
}

}  // namespace verlc
