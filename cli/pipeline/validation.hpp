// Held-out prompts, generated and scored; never trained on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/reward_stage.hpp"
#include "pipeline/rollout_stage.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"
#include "track/metrics.hpp"

namespace verlc::pipeline {

class Validation {
 public:
  /// Reads and checks the rows of data.val_files; empty() when the recipe names none. References must outlive
  /// this.
  Validation(const Recipe& recipe, Session& session, const TextCodec& codec, RewardStage& rewards);

  [[nodiscard]] bool empty() const { return prompts_.empty(); }
  /// Generates with rollout.val_kwargs and gives val-core/<data_source>/reward/mean@n and, over all rows,
  /// val-core/reward/mean@n. The same prompts and seeds every time. Collective.
  MetricValues run(RolloutStage& rollout);
  /// Mean over all rows of the last run.
  [[nodiscard]] double last_mean() const { return last_mean_; }

 private:
  const Recipe& recipe_;
  Session& session_;
  RewardStage& rewards_;
  PromptDataset data_;
  std::vector<std::shared_ptr<const Prompt>> prompts_;  // all rows, on every rank
  double last_mean_ = 0;
};

/// Loads prompts, applies the length limit of data.max_prompt_length and checks the labels. `tokens` gets
/// each row's ids.
PromptDataset load_prompt_rows(const Recipe& recipe, const std::vector<std::string>& files,
                               int64_t max_samples, const TextCodec& codec, const RewardStage& rewards,
                               std::vector<std::vector<int32_t>>* tokens);

}  // namespace verlc::pipeline
