#include "pipeline/background_scoring.hpp"

#include <utility>

#include "core/base/check.hpp"

namespace verlc::pipeline {

BackgroundScoring::BackgroundScoring(Judge judge) : judge_(std::move(judge)), thread_([this] { work(); }) {}

BackgroundScoring::~BackgroundScoring() {
  stop(true);
}

void BackgroundScoring::stop(bool drop) {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (drop) waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundScoring::push(uint64_t number, const Sample& sample) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    waiting_.push_back({number, sample.prompt, sample.response, sample.text});
  }
  changed_.notify_all();
}

void BackgroundScoring::work() {
  while (true) {
    std::vector<Item> items;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      items = std::exchange(waiting_, {});
    }
    std::vector<ScoringJob> jobs;
    for (const Item& item : items) jobs.push_back({item.number, item.prompt.get(), item.response, item.text});
    try {
      std::vector<RewardScore> scores = judge_(jobs);
      check(scores.size() == jobs.size(), "every job has a score");
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < items.size(); ++i) results_.push_back({items[i].number, std::move(scores[i])});
    } catch (...) {
      // finish() meets it again, and tells the first in the order of the samples.
      const std::lock_guard lock(mutex_);
      failed_ = true;
      waiting_.clear();
      return;
    }
  }
}

std::vector<RewardScore> BackgroundScoring::finish(std::span<const Sample> samples) {
  stop(false);
  std::vector<RewardScore> scores(samples.size());
  std::vector<bool> done(samples.size(), false);
  if (!failed_)
    for (Result& result : results_) {
      const auto i = static_cast<size_t>(result.number);
      check(i < samples.size(), "a scored sample is one of the step's");
      scores[i] = std::move(result.score);
      done[i] = true;
    }
  std::vector<ScoringJob> jobs;
  for (size_t i = 0; i < samples.size(); ++i)
    if (!done[i]) jobs.push_back({i, samples[i].prompt.get(), samples[i].response, samples[i].text});
  if (jobs.empty()) return scores;
  std::vector<RewardScore> late = judge_(jobs);
  check(late.size() == jobs.size(), "every job has a score");
  for (size_t j = 0; j < jobs.size(); ++j) scores[static_cast<size_t>(jobs[j].number)] = std::move(late[j]);
  return scores;
}

size_t BackgroundScoring::num_scored() {
  const std::lock_guard lock(mutex_);
  return results_.size();
}

}  // namespace verlc::pipeline
