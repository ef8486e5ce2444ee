// The update of the actor: epochs over mini-batches, each one optimizer step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/actor_loss.hpp"
#include "core/optim/schedule.hpp"
#include "host/train_engine.hpp"
#include "pipeline/packed_samples.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"
#include "track/metrics.hpp"

namespace verlc::pipeline {

/// Micro-batch limits of a recipe's actor: sequences or tokens.
struct MicroLimits {
  uint64_t sequences = 0, tokens = 0;
};
MicroLimits actor_limits(const Recipe& recipe);
MicroLimits reference_limits(const Recipe& recipe);

/// The learning-rate schedule over `total_steps` steps of training.
Schedule make_schedule(const OptimSection& optim, uint64_t total_steps);

/// Which mini-batch of a step a prompt belongs to, by its place in the global batch: the same for any number
/// of ranks.
class MiniBatches {
 public:
  MiniBatches(int64_t batch_size, int64_t mini_batch_size)
      : batch_size_(batch_size), mini_(mini_batch_size) {}
  [[nodiscard]] int64_t count() const { return (batch_size_ + mini_ - 1) / mini_; }
  [[nodiscard]] int64_t of(size_t place) const { return static_cast<int64_t>(place) / mini_; }
  /// The places that `rank` of `ranks` works on: its equal part of every mini-batch, ascending.
  [[nodiscard]] std::vector<size_t> places(int rank, int ranks) const;

 private:
  int64_t batch_size_, mini_;
};

/// training/rollout_probs_diff_* and rollout_logp_diff_max: the gap between sampling and training over the
/// loss tokens, 0 when both do the same arithmetic on the same weights. All [T].
void put_rollout_gap(std::span<const float> logp, std::span<const float> rollout,
                     std::span<const uint8_t> mask, Metrics& metrics);

class ActorUpdate {
 public:
  /// `recipe` must outlive this object.
  ActorUpdate(const Recipe& recipe, Session& session, TrainEngine& engine, uint64_t total_steps);

  /// `batch`: this rank's sequences in ascending order of `mini` [S], the mini-batch of each. Needs old_logp,
  /// advantages and, with a KL loss, ref_logp. Collective. Gives verl's actor/* metrics, the mean over the
  /// optimizer steps, and the gap between the rollout's log-probs and those of the first mini-batch.
  MetricValues run(uint64_t step, const PackedSamples& batch, std::span<const int64_t> mini,
                   int64_t num_mini);

 private:
  /// `update`: number of optimizer steps before this one in the same step of the trainer.
  MetricValues one_step(const PackedSamples& part, uint64_t step, uint64_t update);
  void micro_loss(const PackedSamples& part, const GlobalCounts& counts, verlc_micro_batch& micro,
                  uint64_t seed, bool measure_gap, Metrics& metrics) const;
  void measure_idle(const PackedSamples& idle, const GlobalCounts& counts, bool first, Metrics& metrics);
  [[nodiscard]] bool needs_entropy() const;
  [[nodiscard]] bool measures_gap(bool first) const;

  const Recipe& recipe_;
  Session& session_;
  TrainEngine& engine_;
  PolicyLossRegistry losses_;
  ActorLossParams params_;
  Schedule schedule_;
};

}  // namespace verlc::pipeline
