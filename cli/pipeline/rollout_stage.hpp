// Generation: the state machine of the rollout engine, and prompts in, samples out.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/executor.hpp"
#include "host/rollout_engine.hpp"
#include "host/train_engine.hpp"
#include "pipeline/sample.hpp"
#include "pipeline/text_codec.hpp"

namespace verlc::pipeline {

/// loaded: has never had weights; serving: may generate; asleep: weights and cache dropped; updating: between
/// begin and end of an update.
enum class RolloutState { loaded, serving, asleep, updating };
const char* rollout_state_name(RolloutState state);

/// What one call of generate() is to do with each prompt.
struct GenerationPlan {
  int64_t samples_per_prompt = 1;
  SamplingParameters sampling;
  uint64_t seed = 0;  ///< the tokens of sample i of a prompt are a function of (seed, step, place, i)
  uint64_t step = 0;
  std::function<bool()> stop;  ///< asked between engine steps; true = abort what is unfinished
  std::function<void(size_t finished, size_t total)> progress;
  /// Of a prompt's response; the longest are begun first. Not given = 0 for all. No result depends on it.
  std::function<int64_t(const Prompt&)> expected_length;
  /// Told of every finished sample, decoded, with its index in the result, in order of finishing.
  std::function<void(size_t index, const Sample&)> sample_done;
};

/// One engine of this rank. An operation that its state does not allow is an Error.
class RolloutStage {
 public:
  /// `threads`: for rounding weights when the engine's dtype is not "float32".
  RolloutStage(std::unique_ptr<RolloutEngine> engine, const TextCodec& codec, Executor& threads,
               const std::string& dtype);

  [[nodiscard]] RolloutState state() const { return state_; }
  [[nodiscard]] uint64_t version() const { return version_; }
  /// Takes every weight from the trainer (collective with it); afterwards serving. Checks that both hold the
  /// same: Error(run) naming both digests otherwise. Returns the digest.
  std::string update_weights(TrainEngine& trainer, uint64_t version, uint64_t bucket_bytes);
  /// Samples in order of (prompt, number). Decoded, not scored.
  std::vector<Sample> generate(std::span<const std::shared_ptr<const Prompt>> prompts,
                               const GenerationPlan& plan);
  /// Drops cache and weights, which the next update brings back.
  void sleep();

 private:
  void require(RolloutState wanted, const char* operation) const;
  class Collector;
  void submit_all(std::span<const RolloutRequest> requests, Collector& collector);
  Outcome poll(Collector& collector);

  std::unique_ptr<RolloutEngine> engine_;
  const TextCodec& codec_;
  Executor& threads_;
  bool narrow_;  // matrices are delivered in bfloat16
  RolloutState state_ = RolloutState::loaded;
  uint64_t version_ = 0;
};

}  // namespace verlc::pipeline
