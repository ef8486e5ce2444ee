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

/// A finished response to be scored; borrowed.
struct ScoringJob {
  uint64_t number = 0;  ///< of the sample on this rank
  const Prompt* prompt = nullptr;
  std::span<const int32_t> response = {};
  std::string_view text = {};
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

  /// The two halves of score(). judge(): a score for each job, which does not depend on the others; any
  /// thread, one call at a time. settle(): writes them into their samples and applies reward.error_policy.
  /// scores: [samples].
  std::vector<RewardScore> judge(std::span<const ScoringJob> jobs, const PromptDataset& data);
  RewardOutcome settle(std::span<Sample> samples, std::span<const RewardScore> scores,
                       const PromptDataset& data) const;

 private:
  [[nodiscard]] RewardScore judge_one(const ScoringJob& job, const PromptDataset& data) const;
  std::vector<RewardScore> judge_by_plugin(std::span<const ScoringJob> jobs, const PromptDataset& data);
  void drop_groups(std::span<Sample> samples) const;

  RewardSection section_;
  std::optional<ScorerTable> scorers_;
  std::unique_ptr<RewardPlugin> plugin_;
};

}  // namespace verlc::pipeline
