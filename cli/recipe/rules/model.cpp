// The model's config.json: a family that we have, and shapes that fit together.
#include <fmt/format.h>

#include <algorithm>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void config_readable(const RuleContext& c) {
  if (c.model) return;
  c.problems.add("model.path", c.recipe.model.path, c.model_fault, "give a Hugging Face model folder");
}

void architecture(const RuleContext& c) {
  if (!c.model || c.names.architectures.empty()) return;
  const std::vector<std::string>& names = c.names.architectures;
  const std::string& name = c.model->architecture;
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  c.problems.add("model.path", name.empty() ? "none" : name,
                 fmt::format("the architecture in {} is not supported", c.model->file.string()),
                 "supported are " + joined(names));
}

void shapes(const RuleContext& c) {
  if (!c.model) return;
  const ModelFacts& m = *c.model;
  const auto add = [&](const std::string& value, const std::string& rule) {
    c.problems.add("model.path", value, rule, "mend " + m.file.string());
  };
  std::string missing;
  const auto need = [&](const std::optional<int64_t>& number, const char* name) {
    if (!number) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(m.hidden_size, "hidden_size");
  need(m.num_layers, "num_hidden_layers");
  need(m.num_heads, "num_attention_heads");
  need(m.vocab_size, "vocab_size");
  if (!missing.empty()) return add(missing, "config.json lacks these positive integers");
  if (*m.num_heads % *m.num_kv_heads != 0)
    add(fmt::format("{} and {}", *m.num_heads, *m.num_kv_heads),
        "num_attention_heads must be a multiple of num_key_value_heads");
  if (*m.head_dim < 1 || *m.head_dim % 2 != 0)
    add(fmt::format("{}", *m.head_dim), "the head dimension must be even and positive (rotary pairs)");
}

}  // namespace

void add_rules_model(RuleSet& rules) {
  rules.push_back({"config readable", {"model.path"}, config_readable});
  rules.push_back({"architecture", {"model.path"}, architecture});
  rules.push_back({"shapes", {"model.path"}, shapes});
}

}  // namespace verlc
