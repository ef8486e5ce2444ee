// One arithmetic for rollout, policy and reference.
#include <fmt/format.h>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

void same_dtype(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const std::string& actor = c.recipe.actor.fsdp_config.dtype;
  const std::string& rollout = c.recipe.rollout.dtype;
  if (actor == rollout || c.recipe.actor.old_log_prob == "recompute") return;
  c.problems.add(
      "rollout.dtype", rollout,
      fmt::format("must be actor.fsdp_config.dtype, \"{}\": sampled log-probs are used as the trainer's own",
                  actor),
      fmt::format("rollout.dtype = \"{}\", or actor.old_log_prob = \"recompute\"", actor));
}

void pack_narrow(const RuleContext& c) {
  const auto check = [&](const FsdpConfigSection& config, const std::string& section) {
    if (config.pack_weights || config.dtype == "float32") return;
    c.problems.add(section + ".pack_weights", "false", "is for dtype = \"float32\" only",
                   section + ".pack_weights = true");
  };
  check(c.recipe.actor.fsdp_config, "actor.fsdp_config");
  check(c.recipe.ref.fsdp_config, "ref.fsdp_config");
}

}  // namespace

void add_rules_precision(RuleSet& rules) {
  rules.push_back(
      {"one dtype", {"actor.fsdp_config.dtype", "rollout.dtype", "actor.old_log_prob"}, same_dtype});
  rules.push_back({"packed weights",
                   {"actor.fsdp_config.dtype", "actor.fsdp_config.pack_weights", "ref.fsdp_config.dtype",
                    "ref.fsdp_config.pack_weights"},
                   pack_narrow});
}

}  // namespace verlc
