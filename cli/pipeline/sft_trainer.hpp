// Supervised fine-tuning with the parts of the RL loop: the same engine, data order, checkpoints and records.
#pragma once

#include <memory>
#include <vector>

#include "data/row_sampler.hpp"
#include "pipeline/actor_update.hpp"
#include "pipeline/checkpointer.hpp"
#include "pipeline/run_record.hpp"
#include "pipeline/text_codec.hpp"

namespace verlc::pipeline {

class SftTrainer {
 public:
  /// Reads data and weights; every fault of the input shows here. References must outlive this.
  SftTrainer(const Recipe& recipe, Session& session);
  /// As GrpoTrainer::run().
  int run();

 private:
  MetricValues train_step(uint64_t step);
  [[nodiscard]] PackedSamples own_rows(const std::vector<uint32_t>& rows) const;
  double loss_over(const PackedSamples& batch, bool train, double* tokens);
  void validate(uint64_t step, MetricValues* values);
  void save(uint64_t step);
  [[nodiscard]] nlohmann::json state() const;
  [[nodiscard]] bool due(uint64_t step, int64_t every) const;

  const Recipe& recipe_;
  Session& session_;
  TextCodec codec_;
  std::vector<MaskedTokens> rows_, held_out_;
  RowSampler sampler_;
  Checkpointer checkpointer_;
  RunRecord record_;
  Schedule schedule_;
  std::unique_ptr<TrainEngine> engine_;
  uint64_t saved_step_ = 0;
};

}  // namespace verlc::pipeline
