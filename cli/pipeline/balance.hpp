// Spreads the samples of a step over ranks and over micro-batches by what they cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/comm/process_group.hpp"
#include "pipeline/actor_update.hpp"
#include "pipeline/micro_order.hpp"
#include "pipeline/sample.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"
#include "track/metrics.hpp"

namespace verlc::pipeline {

/// Relative work of a forward pass over a token: 1, and `attention` for each token that it attends to.
struct WorkModel {
  double attention = 0;
  /// From the sizes in config.json: multiply-adds of a layer's matrices, about 12 h^2, against those of its
  /// attention, 2 heads x head_dim a token; 0 where a number is missing.
  static WorkModel of_model(const Recipe& recipe);
  /// Tokens [first, last) of a sequence.
  [[nodiscard]] double of(int64_t first, int64_t last) const;
};

struct BalanceParams {
  bool move = true;           ///< trainer.balance_batch
  bool share_prompts = true;  ///< a group's prompt is computed once
  bool skip_idle = true;      ///< no backward for groups whose scores are all equal
  double train_weight = 3;    ///< forward passes' worth of work of a sample that is trained on
  double idle_weight = 1;     ///< and of one that is not
  int64_t micro_tokens = 0;   ///< budget of a micro-batch; 0 = they are cut by their number of sequences
  WorkModel work;
};
BalanceParams balance_params(const Recipe& recipe, bool share_prompts);

/// Moves samples between ranks so that each has about the same work in every mini-batch, and puts them in the
/// order of micro_order() within each; those without a backward come last in it. Prompts stay whole and in
/// their mini-batch, so statistics of groups, global counts and sums are those of the unmoved step.
/// `samples`: of this rank by place, scored; the result is in ascending order of mini-batch. Puts verl's
/// global_seqlen/*: tokens of a rank before and after; and balance/work_ratio_before and balance/work_ratio:
/// the work of the busiest rank over the mean. Work is what is made even: tokens without a backward are less
/// of it. Collective.
void balance_samples(std::vector<Sample>& samples, const MiniBatches& mini, int64_t batch_size,
                     const BalanceParams& params, ProcessGroup& group, Metrics& metrics);

/// `limits` with its token budget lowered to the least that needs no more micro-batches than the rank with
/// most of them: ranks go through micro-batches together. Collective.
MicroLimits even_limits(const MicroLimits& limits, const PackedSamples& batch, GroupReducer& group);

}  // namespace verlc::pipeline
