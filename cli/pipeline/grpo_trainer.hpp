// Reinforcement learning in verl's step order: rollout, reward, old and reference log-probs, advantages,
// update, weight sync, validation, checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "algorithms/advantage.hpp"
#include "data/row_sampler.hpp"
#include "pipeline/actor_update.hpp"
#include "pipeline/background_scoring.hpp"
#include "pipeline/balance.hpp"
#include "pipeline/checkpointer.hpp"
#include "pipeline/length_hints.hpp"
#include "pipeline/run_record.hpp"
#include "pipeline/validation.hpp"

namespace verlc::pipeline {

class GrpoTrainer {
 public:
  /// Reads data and weights; every fault of the input shows here. References must outlive this.
  GrpoTrainer(const Recipe& recipe, Session& session);

  /// Trains to the last step; 0 when done, 130 after a stop was asked for and a checkpoint written.
  int run();
  /// Trains `steps` steps from a fresh start and writes their metrics, but no validation, checkpoint or
  /// model.
  void rehearse(uint64_t steps);

 private:
  struct Step;  // one step's samples, arrays and metrics
  void restore();
  void sync_weights(uint64_t version, Metrics* metrics);
  bool train_step(uint64_t step);
  void draw(Step& step);
  bool generate(Step& step);
  void score(Step& step);
  void drop_unusable(Step& step);
  void log_probs(Step& step);
  void advantages(Step& step);
  void update(Step& step);
  void put_sample_metrics(Step& step);
  void finish(Step& step);
  void validate(uint64_t step, MetricValues* values);
  void save(uint64_t step);
  [[nodiscard]] nlohmann::json state() const;
  [[nodiscard]] bool due(uint64_t step, int64_t every) const;

  const Recipe& recipe_;
  Session& session_;
  TextCodec codec_;
  RewardStage rewards_;
  std::vector<std::vector<int32_t>> prompt_tokens_;
  PromptDataset data_;
  Validation validation_;
  RowSampler sampler_;
  MiniBatches mini_;
  Checkpointer checkpointer_;
  RunRecord record_;
  std::unique_ptr<TrainEngine> actor_, reference_;
  std::unique_ptr<RolloutStage> rollout_;
  AdvantageRegistry estimators_;
  KlController kl_;
  std::unique_ptr<ActorUpdate> updater_;
  BalanceParams balance_;
  LengthHints hints_;
  nlohmann::json resume_state_;  // sampler and controller at the last finished step
  std::optional<double> accuracy_before_, accuracy_after_;
  uint64_t saved_step_ = 0;
  uint64_t tokens_seen_ = 0;
};

}  // namespace verlc::pipeline
