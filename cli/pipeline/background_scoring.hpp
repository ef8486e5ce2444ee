// Scoring of finished responses while others are still generated.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/reward_plugin.hpp"
#include "pipeline/reward_stage.hpp"
#include "pipeline/sample.hpp"

namespace verlc::pipeline {

/// One thread that scores what is there, all of it in one call, and then looks again: a scorer that works on
/// many responses at once keeps that, and is never called twice at a time. It sleeps while there is nothing.
/// Scores are those of one call at the end; so are the errors, since after a failed call everything is scored
/// again by finish(), in the order of the samples. push() and finish() from one thread.
class BackgroundScoring {
 public:
  using Judge = std::function<std::vector<RewardScore>(std::span<const ScoringJob>)>;
  /// `judge` is called from the thread, or from finish() when the thread has ended.
  explicit BackgroundScoring(Judge judge);
  BackgroundScoring(const BackgroundScoring&) = delete;
  BackgroundScoring& operator=(const BackgroundScoring&) = delete;
  /// Waits for a call under way; what was not scored is left.
  ~BackgroundScoring();

  /// Copies what it needs of the sample with that number.
  void push(uint64_t number, const Sample& sample);
  /// Waits until all is scored and gives the score of every sample, by number; samples that were not pushed
  /// are scored now. What `judge` throws comes out here. Ends the thread.
  std::vector<RewardScore> finish(std::span<const Sample> samples);
  /// Samples that are scored already, for tests and reports.
  [[nodiscard]] size_t num_scored();

 private:
  struct Item {
    uint64_t number = 0;
    std::shared_ptr<const Prompt> prompt;
    std::vector<int32_t> response;
    std::string text;
  };
  struct Result {
    uint64_t number = 0;
    RewardScore score;
  };

  void work();
  void stop(bool drop);

  Judge judge_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> waiting_;
  std::vector<Result> results_;
  bool ending_ = false, failed_ = false;
  std::thread thread_;
};

}  // namespace verlc::pipeline
