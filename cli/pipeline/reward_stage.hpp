// Scores of samples, by the built-in scorers or a reward plugin.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/prompt_dataset.hpp"
#include "host/reward_plugin.hpp"
#include "pipeline/sample.hpp"
#include "pipeline/session.hpp"
#include "rewards/scorer.hpp"

namespace verlc::pipeline {

/// What scoring a step came to on this rank.
struct RewardOutcome {
  size_t errors = 0;        ///< samples without a score
  std::string first_error;  ///< why, with the row's place
};

class RewardStage {
 public:
  RewardStage(Session& session, const RewardSection& section);

  /// Every label readable, the gold answer of the first row of each scorer at the maximum and an empty answer
  /// below it; Error(input) naming file:line otherwise. A plugin is not asked.
  void check_labels(const PromptDataset& data) const;
  /// Fills score and scored of each sample. A sample that can't be scored is never a 0: with the policy
  /// "abort" it is an Error(run), else it stays unscored ("drop_sample") with its group-mates ("drop_group").
  /// Local.
  RewardOutcome score(std::span<Sample> samples, const PromptDataset& data);

 private:
  void score_one(Sample& sample, const PromptDataset& data, RewardOutcome& outcome) const;
  void score_by_plugin(std::span<Sample> samples, const PromptDataset& data, RewardOutcome& outcome);
  void drop_groups(std::span<Sample> samples) const;

  RewardSection section_;
  std::optional<ScorerTable> scorers_;
  std::unique_ptr<RewardPlugin> plugin_;
};

}  // namespace verlc::pipeline
