// Sizes that must divide: batch, mini-batch, micro-batch, ranks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

constexpr int64_t most = 1 << 24;

void batch_over_ranks(const RuleContext& c) {
  const int64_t batch = c.recipe.data.train_batch_size;
  const int64_t n = c.recipe.is_sft() ? 1 : c.recipe.rollout.n;
  const int64_t ranks = c.recipe.trainer.ranks;
  if (batch * n % ranks == 0) return;
  const int64_t step = ranks / std::gcd(ranks, n);
  const std::string product = n == 1 ? "data.train_batch_size" : "data.train_batch_size * rollout.n";
  c.problems.add("data.train_batch_size", fmt::format("{} * {} over {} ranks", batch, n, ranks),
                 product + " must be divisible by trainer.ranks",
                 fmt::format("data.train_batch_size = {}", nearest_legal(batch, most, {step})));
}

void mini_batch_in_batch(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const int64_t batch = c.recipe.data.train_batch_size;
  const int64_t mini = c.recipe.actor.ppo_mini_batch_size;
  if (mini <= batch && batch % mini == 0) return;
  int64_t below = std::min(mini, batch);
  while (batch % below != 0) --below;
  int64_t above = mini < batch ? mini : batch;
  while (batch % above != 0) ++above;
  const std::string fix = below == above ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
  c.problems.add("actor.ppo_mini_batch_size", fmt::format("{} of {}", mini, batch),
                 "must divide data.train_batch_size (both count prompts)",
                 "actor.ppo_mini_batch_size = " + fix);
}

void mini_batch_over_ranks(const RuleContext& c) {
  if (c.recipe.is_sft()) return;
  const int64_t samples = c.recipe.actor.ppo_mini_batch_size * c.recipe.rollout.n;
  const int64_t ranks = c.recipe.trainer.ranks;
  if (samples % ranks == 0 || c.problems.is_bad("actor.ppo_mini_batch_size")) return;
  const int64_t step = ranks / std::gcd(ranks, c.recipe.rollout.n);
  c.problems.add(
      "actor.ppo_mini_batch_size",
      fmt::format("{} * {} over {} ranks", c.recipe.actor.ppo_mini_batch_size, c.recipe.rollout.n, ranks),
      "actor.ppo_mini_batch_size * rollout.n must be divisible by trainer.ranks",
      fmt::format("actor.ppo_mini_batch_size = {}",
                  nearest_legal(c.recipe.actor.ppo_mini_batch_size, most, {step})));
}

void micro_batch(const RuleContext& c) {
  const ActorSection& actor = c.recipe.actor;
  if (!actor.ppo_micro_batch_size_per_gpu || *actor.use_dynamic_bsz ||
      c.problems.is_bad("data.train_batch_size") || c.problems.is_bad("actor.ppo_mini_batch_size"))
    return;
  const int64_t samples =
      c.recipe.is_sft() ? c.recipe.data.train_batch_size : actor.ppo_mini_batch_size * c.recipe.rollout.n;
  const int64_t per_rank = samples / c.recipe.trainer.ranks;
  const int64_t micro = *actor.ppo_micro_batch_size_per_gpu;
  if (micro <= per_rank && per_rank % micro == 0) return;
  int64_t below = std::min(micro, per_rank);
  while (per_rank % below != 0) --below;
  int64_t above = std::min(micro, per_rank);
  while (per_rank % above != 0) ++above;
  const std::string fix = below == above ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
  c.problems.add("actor.ppo_micro_batch_size_per_gpu", fmt::format("{} of {}", micro, per_rank),
                 "must divide a rank's sequences of one optimizer step",
                 "actor.ppo_micro_batch_size_per_gpu = " + fix + ", or actor.use_dynamic_bsz = true instead");
}

void one_way_to_cut(const RuleContext& c) {
  const ActorSection& actor = c.recipe.actor;
  if (*actor.use_dynamic_bsz && actor.ppo_micro_batch_size_per_gpu)
    c.problems.add("actor.ppo_micro_batch_size_per_gpu",
                   fmt::format("{}", *actor.ppo_micro_batch_size_per_gpu),
                   "has no effect with actor.use_dynamic_bsz = true", "remove one of the two");
  if (!*actor.use_dynamic_bsz && !actor.ppo_micro_batch_size_per_gpu)
    c.problems.add("actor.use_dynamic_bsz", "false", "needs actor.ppo_micro_batch_size_per_gpu",
                   "give that size, or remove this line");
}

}  // namespace

void add_rules_batch(RuleSet& rules) {
  rules.push_back(
      {"batch over ranks", {"data.train_batch_size", "rollout.n", "trainer.ranks"}, batch_over_ranks});
  rules.push_back(
      {"mini-batch in batch", {"data.train_batch_size", "actor.ppo_mini_batch_size"}, mini_batch_in_batch});
  rules.push_back({"mini-batch over ranks",
                   {"data.train_batch_size", "actor.ppo_mini_batch_size", "rollout.n", "trainer.ranks"},
                   mini_batch_over_ranks});
  rules.push_back(
      {"micro-batch",
       {"actor.ppo_micro_batch_size_per_gpu", "actor.use_dynamic_bsz", "rollout.n", "trainer.ranks"},
       micro_batch});
  rules.push_back(
      {"one way to cut", {"actor.ppo_micro_batch_size_per_gpu", "actor.use_dynamic_bsz"}, one_way_to_cut});
}

}  // namespace verlc
