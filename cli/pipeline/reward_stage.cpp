#include "pipeline/reward_stage.hpp"

#include <set>

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace verlc::pipeline {
namespace {

std::string label_place(const PromptDataset& data, size_t row) {
  return data.where(row) + ": reward_model.ground_truth";
}

void note_error(const PromptDataset& data, const Sample& sample, const std::string& message,
                RewardOutcome& outcome) {
  ++outcome.errors;
  if (outcome.first_error.empty()) outcome.first_error = data.where(sample.prompt->row) + ": " + message;
}

}  // namespace

RewardStage::RewardStage(Session& session, const RewardSection& section) : section_(section) {
  if (section.plugin.empty()) {
    scorers_.emplace(section.name, parse_scorer_options(section.config.json));
  } else {
    plugin_ = std::make_unique<RewardPlugin>(session.load_plugin(section.plugin, VERLC_CAPABILITY_REWARD),
                                             section.config.json.dump());
  }
}

void RewardStage::check_labels(const PromptDataset& data) const {
  if (!scorers_) return;
  std::set<const Scorer*> tested;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const PromptRow& row = data.rows[i];
    const Scorer& scorer = scorers_->scorer_for(row.data_source, data.where(i) + ": data_source");
    validate_label(scorer, row.ground_truth, label_place(data, i));
    if (tested.insert(&scorer).second) self_test(scorer, row.ground_truth, label_place(data, i));
  }
}

RewardScore RewardStage::judge_one(const ScoringJob& job, const PromptDataset& data) const {
  const PromptRow& row = data.rows[job.prompt->row];
  const Scorer& scorer = scorers_->scorer_for(row.data_source, data.where(job.prompt->row));
  const Score score = scorer.score(job.text, row.ground_truth, row.extra_info);
  if (score.has_value()) return {.reward = score.value(), .ok = true, .message = {}};
  return {.reward = 0, .ok = false, .message = score.error().message};
}

std::vector<RewardScore> RewardStage::judge_by_plugin(std::span<const ScoringJob> jobs,
                                                      const PromptDataset& data) {
  std::vector<RewardSample> asked;
  for (const ScoringJob& job : jobs) {
    const PromptRow& row = data.rows[job.prompt->row];
    asked.push_back({job.number, job.prompt->uid, job.response, row.data_source, row.text, job.text,
                     row.ground_truth_text, row.extra_info_text});
  }
  std::vector<RewardScore> scores;
  plugin_->score(asked, scores);
  return scores;
}

std::vector<RewardScore> RewardStage::judge(std::span<const ScoringJob> jobs, const PromptDataset& data) {
  if (jobs.empty()) return {};
  if (plugin_) return judge_by_plugin(jobs, data);
  std::vector<RewardScore> scores;
  for (const ScoringJob& job : jobs) scores.push_back(judge_one(job, data));
  return scores;
}

void RewardStage::drop_groups(std::span<Sample> samples) const {
  std::set<uint64_t> broken;
  for (const Sample& sample : samples)
    if (!sample.scored) broken.insert(sample.prompt->uid);
  for (Sample& sample : samples)
    if (broken.contains(sample.prompt->uid)) sample.scored = false;
}

RewardOutcome RewardStage::score(std::span<Sample> samples, const PromptDataset& data) {
  std::vector<ScoringJob> jobs;
  for (const Sample& sample : samples)
    jobs.push_back({jobs.size(), sample.prompt.get(), sample.response, sample.text});
  return settle(samples, judge(jobs, data), data);
}

RewardOutcome RewardStage::settle(std::span<Sample> samples, std::span<const RewardScore> scores,
                                  const PromptDataset& data) const {
  check(scores.size() == samples.size(), "every sample has a score");
  RewardOutcome outcome;
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].scored = scores[i].ok;
    samples[i].score = scores[i].reward;
    if (!scores[i].ok) note_error(data, samples[i], scores[i].message, outcome);
  }
  if (outcome.errors > 0 && section_.error_policy == "abort")
    fail_run({.what = "a response could not be scored",
              .where = "reward",
              .value = outcome.first_error,
              .fix = "mend the scorer, or set reward.error_policy to drop_sample or drop_group"});
  if (outcome.errors > 0 && section_.error_policy == "drop_group") drop_groups(samples);
  return outcome;
}

}  // namespace verlc::pipeline
