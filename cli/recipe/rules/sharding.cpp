// Shard groups against the number of ranks.
#include <fmt/format.h>

#include <algorithm>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

std::string divisors_near(int64_t ranks, int64_t value) {
  std::string text;
  int64_t below = std::clamp<int64_t>(value, 1, ranks);
  while (ranks % below != 0) --below;
  int64_t above = std::clamp<int64_t>(value, 1, ranks);
  while (ranks % above != 0) ++above;
  return below == above ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
}

void check_group(const RuleContext& c, const FsdpConfigSection& config, const std::string& section) {
  const std::string key = section + ".fsdp_size";
  const int64_t ranks = c.recipe.trainer.ranks;
  const int64_t size = config.fsdp_size;
  if (config.sharding == "hybrid") {
    if (size >= 1 && ranks % size == 0) return;
    c.problems.add(key, fmt::format("{} of {} ranks", size, ranks),
                   "sharding = \"hybrid\" needs an fsdp_size that divides trainer.ranks",
                   key + " = " + divisors_near(ranks, size));
  } else if (size != -1 && size != ranks) {
    c.problems.add(key, fmt::format("{} of {} ranks", size, ranks),
                   fmt::format("is read only with sharding = \"hybrid\", not \"{}\"", config.sharding),
                   key + " = -1, or " + section + ".sharding = \"hybrid\"");
  }
}

void actor_group(const RuleContext& c) {
  check_group(c, c.recipe.actor.fsdp_config, "actor.fsdp_config");
}
void ref_group(const RuleContext& c) {
  check_group(c, c.recipe.ref.fsdp_config, "ref.fsdp_config");
}

void offload(const RuleContext& c) {
  const auto note = [&](bool on, const std::string& key) {
    if (on) c.problems.note(key, "has no effect: the device is the CPU, so nothing is to be offloaded");
  };
  note(c.recipe.actor.fsdp_config.param_offload, "actor.fsdp_config.param_offload");
  note(c.recipe.actor.fsdp_config.optimizer_offload, "actor.fsdp_config.optimizer_offload");
  note(c.recipe.ref.fsdp_config.param_offload, "ref.fsdp_config.param_offload");
  note(c.recipe.ref.fsdp_config.optimizer_offload, "ref.fsdp_config.optimizer_offload");
}

}  // namespace

void add_rules_sharding(RuleSet& rules) {
  const std::string ranks = "trainer.ranks";
  rules.push_back({"actor shard group",
                   {ranks, "actor.fsdp_config.sharding", "actor.fsdp_config.fsdp_size"},
                   actor_group});
  rules.push_back(
      {"reference shard group", {ranks, "ref.fsdp_config.sharding", "ref.fsdp_config.fsdp_size"}, ref_group});
  rules.push_back({"offload", {}, offload});
}

}  // namespace verlc
