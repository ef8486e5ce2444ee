// The learning-rate schedule against the run's length.
#include <fmt/format.h>

#include <algorithm>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

void warm_up_once(const RuleContext& c) {
  const OptimSection& o = c.recipe.actor.optim;
  if (!o.lr_warmup_steps || o.lr_warmup_steps_ratio == 0) return;
  c.problems.add("actor.optim.lr_warmup_steps_ratio", fmt::format("{}", o.lr_warmup_steps_ratio),
                 fmt::format("the warm-up is already given as lr_warmup_steps = {}", *o.lr_warmup_steps),
                 "remove one of the two");
}

// Optimizer steps are known before the data is read only when total_training_steps is given.
void warm_up_ends(const RuleContext& c) {
  const Recipe& r = c.recipe;
  if (!r.actor.optim.lr_warmup_steps || !r.trainer.total_training_steps) return;
  const int64_t batches = r.is_sft() ? 1 : r.data.train_batch_size / r.actor.ppo_mini_batch_size;
  const int64_t updates =
      *r.trainer.total_training_steps * std::max<int64_t>(batches, 1) * (r.is_sft() ? 1 : r.actor.ppo_epochs);
  if (*r.actor.optim.lr_warmup_steps <= updates) return;
  c.problems.add("actor.optim.lr_warmup_steps", fmt::format("{}", *r.actor.optim.lr_warmup_steps),
                 fmt::format("the whole run has {} optimizer steps", updates),
                 fmt::format("at most {}", updates));
}

void validation_data(const RuleContext& c) {
  if (c.recipe.trainer.test_freq <= 0 || !c.recipe.data.val_files.empty()) return;
  c.problems.add("trainer.test_freq", fmt::format("{}", c.recipe.trainer.test_freq),
                 "validation needs data.val_files", "give data.val_files, or trainer.test_freq = -1");
}

}  // namespace

void add_rules_schedule(RuleSet& rules) {
  rules.push_back(
      {"warm-up once", {"actor.optim.lr_warmup_steps", "actor.optim.lr_warmup_steps_ratio"}, warm_up_once});
  rules.push_back({"warm-up ends",
                   {"actor.optim.lr_warmup_steps", "trainer.total_training_steps",
                    "actor.ppo_mini_batch_size", "data.train_batch_size", "actor.ppo_epochs"},
                   warm_up_ends});
  rules.push_back({"validation data", {"trainer.test_freq", "data.val_files"}, validation_data});
}

}  // namespace verlc
