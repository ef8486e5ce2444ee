// Lengths: prompt, response, model, token budgets, cache.
#include <fmt/format.h>

#include <algorithm>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

int64_t longest(const Recipe& recipe) {
  return recipe.data.max_prompt_length + recipe.data.max_response_length;
}

void model_length(const RuleContext& c) {
  const int64_t have = *c.recipe.rollout.max_model_len;
  const int64_t need = longest(c.recipe);
  if (have >= need) return;
  c.problems.add("rollout.max_model_len", fmt::format("{}", have),
                 fmt::format("must hold data.max_prompt_length + data.max_response_length = {} tokens", need),
                 fmt::format("rollout.max_model_len = {}", need));
}

void validation_length(const RuleContext& c) {
  const int64_t most = *c.recipe.rollout.max_model_len - c.recipe.data.max_prompt_length;
  const int64_t have = *c.recipe.rollout.val_kwargs.max_new_tokens;
  if (have <= most || most < 1) return;
  c.problems.add("rollout.val_kwargs.max_new_tokens", fmt::format("{}", have),
                 "a prompt and its validation response must fit into rollout.max_model_len",
                 fmt::format("at most {}, or a larger rollout.max_model_len", most));
}

void positions(const RuleContext& c) {
  if (!c.model || !c.model->max_positions) return;
  const int64_t most = *c.model->max_positions;
  const int64_t have = std::max(*c.recipe.rollout.max_model_len, longest(c.recipe));
  if (have <= most) return;
  const bool explicit_length = c.problems.is_given("rollout.max_model_len");
  c.problems.add(explicit_length ? "rollout.max_model_len" : "data.max_response_length",
                 fmt::format("{} tokens", have),
                 fmt::format("the model has {} positions ({})", most, c.model->file.string()),
                 fmt::format("keep data.max_prompt_length + data.max_response_length within {}", most));
}

void token_budget(const RuleContext& c) {
  if (!*c.recipe.actor.use_dynamic_bsz) return;
  const int64_t need = longest(c.recipe);
  const int64_t actor = c.recipe.actor.ppo_max_token_len_per_gpu;
  const int64_t ref = *c.recipe.ref.log_prob_max_token_len_per_gpu;
  if (actor < need)
    c.problems.add("actor.ppo_max_token_len_per_gpu", fmt::format("{}", actor),
                   fmt::format("must hold the longest sequence, {} tokens", need),
                   fmt::format("at least {}", need));
  if (ref < need && c.problems.is_given("ref.log_prob_max_token_len_per_gpu"))
    c.problems.add("ref.log_prob_max_token_len_per_gpu", fmt::format("{}", ref),
                   fmt::format("must hold the longest sequence, {} tokens", need),
                   fmt::format("at least {}", need));
}

void rollout_budget(const RuleContext& c) {
  const RolloutSection& r = c.recipe.rollout;
  const int64_t prompt = r.enable_chunked_prefill ? 0 : c.recipe.data.max_prompt_length;
  const int64_t need = std::max(r.max_num_seqs, prompt);
  if (r.max_num_batched_tokens >= need) return;
  c.problems.add("rollout.max_num_batched_tokens", fmt::format("{}", r.max_num_batched_tokens),
                 prompt > r.max_num_seqs ? "must hold a whole prompt without enable_chunked_prefill"
                                         : "must hold one token of each of rollout.max_num_seqs sequences",
                 fmt::format("at least {}", need));
}

void cache_size(const RuleContext& c) {
  const RolloutSection& r = c.recipe.rollout;
  if (r.kv_cache_memory.bytes == 0 || !c.model) return;
  const std::optional<int64_t> per_token = c.model->kv_bytes_per_token();
  const int64_t pages = (*r.max_model_len + r.block_size - 1) / r.block_size;
  if (!per_token || *per_token > (int64_t{1} << 36)) return;
  const int64_t need = pages * r.block_size * *per_token;
  if (r.kv_cache_memory.bytes >= need) return;
  c.problems.add("rollout.kv_cache_memory", fmt::format("{} bytes", r.kv_cache_memory.bytes),
                 fmt::format("must hold one sequence of rollout.max_model_len tokens: {} bytes", need),
                 fmt::format("at least \"{}MiB\", or 0", need / (1 << 20) + 1));
}

}  // namespace

void add_rules_lengths(RuleSet& rules) {
  const std::string prompt = "data.max_prompt_length", response = "data.max_response_length";
  const std::string length = "rollout.max_model_len";
  rules.push_back({"model length", {prompt, response, length}, model_length});
  rules.push_back(
      {"validation length", {prompt, length, "rollout.val_kwargs.max_new_tokens"}, validation_length});
  rules.push_back({"positions", {prompt, response, length, "model.path"}, positions});
  rules.push_back({"token budget",
                   {prompt, response, "actor.ppo_max_token_len_per_gpu", "actor.use_dynamic_bsz",
                    "ref.log_prob_max_token_len_per_gpu"},
                   token_budget});
  rules.push_back(
      {"rollout budget", {prompt, "rollout.max_num_seqs", "rollout.max_num_batched_tokens"}, rollout_budget});
  rules.push_back({"cache size", {length, "rollout.block_size", "rollout.kv_cache_memory"}, cache_size});
}

}  // namespace verlc
