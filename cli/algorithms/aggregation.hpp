// From token losses to one number: each mode is a weight per token, so that loss = sum of weight x token loss
// and every reduction, over micro-batches and over ranks, is a plain sum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/group_reducer.hpp"
#include "algorithms/packed.hpp"

namespace verlc {

/// Values of actor.loss_agg_mode.
enum class Aggregation {
  token_mean,               ///< 1 / N
  seq_mean_token_sum,       ///< 1 / B
  seq_mean_token_mean,      ///< 1 / (B x loss tokens of the sequence)
  seq_mean_token_sum_norm,  ///< 1 / norm_constant (Dr.GRPO)
};

/// Names accepted by parse_aggregation, in the order of the enum.
std::vector<std::string> aggregation_names();
/// Error(input) with the valid and nearest names otherwise; `where` is the key that held the name.
Aggregation parse_aggregation(const std::string& name, std::string_view where);
std::string_view aggregation_name(Aggregation mode);

/// Totals of one optimiser step over all its micro-batches and all ranks.
struct GlobalCounts {
  double tokens = 0.0;     ///< N: loss tokens
  double sequences = 0.0;  ///< B: sequences with at least one loss token (traps T3)
  /// Divisor of seq_mean_token_sum_norm: length (actor.loss_scale_factor, or the maximum response length)
  /// times sequences of the optimiser step, both from the recipe, never from the width of this batch (traps
  /// T2).
  double norm_constant = 0.0;
};

/// This rank's tokens and sequences; `norm_constant` is left 0.
GlobalCounts count_loss_tokens(const PackedLayout& layout);

/// Sums tokens and sequences over all ranks; `norm_constant` is the recipe's and stays.
GlobalCounts reduce_counts(GlobalCounts local, GroupReducer& group);

/// Weights [T], exactly 0 at masked slots and everywhere when N = 0 (then no step is due, traps T3).
std::vector<double> token_weights(Aggregation mode, const PackedLayout& layout, const GlobalCounts& counts);

}  // namespace verlc
