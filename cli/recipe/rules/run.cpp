// The run itself: its folder, what it resumes, where metrics go, keys without effect.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "recipe/index.hpp"
#include "recipe/rule.hpp"

namespace verlc {
namespace {

void run_name(const RuleContext& c) {
  const std::string& name = c.recipe.name;
  const bool plain =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
      std::string::npos;
  if (plain && !name.empty() && name[0] != '.' && name.size() <= 200) return;
  c.problems.add("name", name,
                 "names a folder: letters, digits, '.', '_' and '-' only, not starting with '.'",
                 "name = \"my_run\"");
}

void resume(const RuleContext& c) {
  const TrainerSection& t = c.recipe.trainer;
  std::error_code error;
  if (t.resume_mode != "resume_path") {
    if (!t.resume_from_path.empty())
      c.problems.add("trainer.resume_from_path", t.resume_from_path,
                     "is read only with trainer.resume_mode = \"resume_path\"",
                     "set that mode, or remove this key");
  } else if (t.resume_from_path.empty()) {
    c.problems.add("trainer.resume_mode", t.resume_mode, "needs trainer.resume_from_path",
                   "give a global_step_N folder, or trainer.resume_mode = \"auto\"");
  } else if (!std::filesystem::is_directory(t.resume_from_path, error)) {
    c.problems.add("trainer.resume_from_path", t.resume_from_path, "the checkpoint folder does not exist",
                   "give a global_step_N folder");
  }
}

void loggers(const RuleContext& c) {
  const std::vector<std::string>& list = c.recipe.trainer.logger;
  if (std::set<std::string>(list.begin(), list.end()).size() == list.size()) return;
  c.problems.add("trainer.logger", fmt::format("{}", fmt::join(list, ", ")), "names one place twice",
                 "remove one");
}

// SFT shares sections with GRPO; a key that it does not read is said, not refused, so that recipes may
// inherit.
void unread_by_sft(const RuleContext& c) {
  if (!c.recipe.is_sft()) return;
  static constexpr std::string_view read_by_sft[] = {
      "actor.strategy",        "actor.ppo_micro_batch_size_per_gpu",
      "actor.use_dynamic_bsz", "actor.ppo_max_token_len_per_gpu",
      "actor.loss_agg_mode",   "actor.loss_scale_factor",
      "algorithm.name"};
  static constexpr std::string_view sections_of_grpo[] = {"algorithm.", "ref.", "reward.", "rollout."};
  for (const FieldInfo& field : index_recipe().fields) {
    const auto begins = [&](std::string_view prefix) { return field.path.starts_with(prefix); };
    const bool read = std::any_of(std::begin(read_by_sft), std::end(read_by_sft),
                                  [&](std::string_view key) { return key == field.path; });
    const bool direct_actor = begins("actor.") && field.path.find('.', 6) == std::string::npos;
    const bool of_grpo = direct_actor || begins("actor.policy_loss.") ||
                         std::any_of(std::begin(sections_of_grpo), std::end(sections_of_grpo), begins);
    if (!read && of_grpo && c.problems.is_given(field.path))
      c.problems.note(field.path, "has no effect with algorithm.name = \"sft\"");
  }
}

}  // namespace

void add_rules_run(RuleSet& rules) {
  rules.push_back({"run name", {"name"}, run_name});
  rules.push_back({"resume", {"trainer.resume_mode", "trainer.resume_from_path"}, resume});
  rules.push_back({"loggers", {"trainer.logger"}, loggers});
  rules.push_back({"unread by SFT", {"algorithm.name"}, unread_by_sft});
}

}  // namespace verlc
