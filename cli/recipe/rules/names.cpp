// Names of scorers and engines.
#include <algorithm>

#include "core/base/error.hpp"
#include "recipe/rule.hpp"

namespace verlc {
namespace {

void known(const RuleContext& c, const std::string& key, const std::string& name, const char* noun,
           const std::vector<std::string>& names) {
  if (names.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list;
  for (const std::string& legal : names) list += (list.empty() ? "" : ", ") + legal;
  const std::vector<std::string> near = nearest_names(name, names, 1);
  c.problems.add(
      key, name, std::string("there is no such ") + noun + "; there are " + list,
      near.empty() ? key + " = \"" + names.front() + "\"" : "did you mean \"" + near.front() + "\"?");
}

void scorer(const RuleContext& c) {
  if (c.recipe.is_sft() || !c.recipe.reward.plugin.empty() || c.names.scorers.empty()) return;
  std::vector<std::string> names = {"auto"};
  names.insert(names.end(), c.names.scorers.begin(), c.names.scorers.end());
  known(c, "reward.name", c.recipe.reward.name, "scorer", names);
}

void engines(const RuleContext& c) {
  known(c, "actor.strategy", c.recipe.actor.strategy, "training engine", c.names.train_engines);
  known(c, "rollout.name", c.recipe.rollout.name, "rollout engine", c.names.rollout_engines);
}

void plugin_or_scorer(const RuleContext& c) {
  if (c.recipe.reward.plugin.empty() || c.recipe.reward.name == "auto") return;
  c.problems.add("reward.name", c.recipe.reward.name, "reward.plugin already scores every response",
                 "remove one of the two");
}

}  // namespace

void add_rules_names(RuleSet& rules) {
  rules.push_back({"scorer", {"reward.name"}, scorer});
  rules.push_back({"engines", {"actor.strategy", "rollout.name"}, engines});
  rules.push_back({"plugin or scorer", {"reward.name", "reward.plugin"}, plugin_or_scorer});
}

}  // namespace verlc
