// What may be sampled in training: the trainer must be able to give the same log-probs.
#include <fmt/format.h>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

void off_in_training(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const RolloutSection& r = c.recipe.rollout;
  const auto add = [&](const char* key, const std::string& value, const char* off) {
    c.problems.add(std::string("rollout.") + key, value,
                   "must be off in training rollouts: the trainer's log-probs are over the whole vocabulary",
                   fmt::format("rollout.{} = {}; validation may use rollout.val_kwargs", key, off));
  };
  if (r.top_k > 0) add("top_k", fmt::format("{}", r.top_k), "-1");
  if (r.top_p != 1.0) add("top_p", fmt::format("{}", r.top_p), "1.0");
  if (r.min_p != 0.0) add("min_p", fmt::format("{}", r.min_p), "0.0");
  if (r.repetition_penalty != 1.0) add("repetition_penalty", fmt::format("{}", r.repetition_penalty), "1.0");
}

void greedy_validation(const RuleContext& c) {
  const ValKwargsSection& val = c.recipe.rollout.val_kwargs;
  if (val.temperature > 0 || val.n == 1) return;
  c.problems.add("rollout.val_kwargs.n", fmt::format("{}", val.n),
                 "several greedy samples of a prompt are all the same",
                 "rollout.val_kwargs.n = 1, or a temperature above 0");
}

}  // namespace

void add_rules_sampling(RuleSet& rules) {
  rules.push_back({"off in training", {"rollout.top_k", "rollout.top_p", "rollout.min_p"}, off_in_training});
  rules.push_back(
      {"greedy validation", {"rollout.val_kwargs.n", "rollout.val_kwargs.temperature"}, greedy_validation});
}

}  // namespace verlc
