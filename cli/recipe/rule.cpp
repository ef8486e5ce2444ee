#include "recipe/rule.hpp"

#include <algorithm>
#include <numeric>

namespace verlc {

void check_rules(const Recipe& recipe, const KnownNames& names, Problems& problems) {
  RuleSet rules;
  add_rules_all(rules);
  std::string fault;
  std::optional<ModelFacts> model;
  if (!problems.is_bad("model.path")) model = read_model_facts(recipe.model.path, fault);
  const RuleContext context{recipe, names, model, fault, problems};
  for (const Rule& rule : rules) {
    const bool skip = std::any_of(rule.keys.begin(), rule.keys.end(),
                                  [&](const std::string& key) { return problems.is_bad(key); });
    if (!skip) rule.run(context);
  }
}

std::string nearest_legal(int64_t value, int64_t most, const std::vector<int64_t>& multiples_of) {
  int64_t step = 1;
  for (const int64_t multiple : multiples_of) {
    step = std::lcm(step, multiple);
    if (step > most) return "";
  }
  const int64_t below = value / step * step;
  const int64_t above = below + step;
  std::string text = below > 0 ? std::to_string(below) : "";
  if (above <= most) text += (text.empty() ? "" : " or ") + std::to_string(above);
  return text;
}

}  // namespace verlc
