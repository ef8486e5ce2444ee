// Advantage estimators: from rewards of responses to a weight for each of their tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/group_reducer.hpp"
#include "algorithms/packed.hpp"
#include "algorithms/registry.hpp"

namespace verlc {

/// Everything an estimator may read. Views of the caller's memory. Groups are whole on one rank.
struct AdvantageInput {
  /// Response tokens of S samples.
  PackedLayout layout{};
  /// [T] token-level; place_outcomes() puts an outcome on its last loss token.
  std::span<const float> rewards{};
  /// [S] total reward of a sample; empty: the sums of `rewards` over loss tokens.
  std::span<const double> outcomes{};
  /// [S] samples of one drawn prompt share a uid (never the prompt's text).
  std::span<const uint64_t> uids{};
  /// [T] critic's values; empty unless the estimator needs them.
  std::span<const float> values{};
  /// [S] reward of the greedy response; empty unless the estimator needs it.
  std::span<const double> baselines{};
};

/// Recipe keys under `algorithm`, with verl's defaults.
struct AdvantageParams {
  double gamma = 1.0;                   ///< discount per trainable token
  double lam = 1.0;                     ///< GAE's lambda
  bool norm_adv_by_std_in_grpo = true;  ///< false: Dr.GRPO, no division by the group's deviation
  int ddof = 1;                         ///< 1: Bessel's correction, 0: population deviation
  double eps = 1e-6;                    ///< added to the deviation
};

/// Both are [T], 0 at masked slots.
struct AdvantageOutput {
  std::vector<float> advantages;
  std::vector<float> returns;
};

/// One estimator. `compute` is pure but for the reducer, which it may use to see all ranks; every rank calls
/// it, also with no samples. Throws Error(input) where the batch breaks the estimator's rule (a group of
/// one).
struct Advantage {
  std::string_view name{};  ///< verl's name, the value of algorithm.adv_estimator
  std::string_view help{};
  bool needs_values = false;
  bool needs_groups = false;
  bool needs_baselines = false;
  bool normalises_groups = false;  ///< reads norm_adv_by_std_in_grpo, ddof and eps
  bool discounts = false;          ///< reads gamma
  bool zero_for_equal = false;     ///< a group of equal rewards gets exactly 0
  AdvantageOutput (*compute)(const AdvantageInput&, const AdvantageParams&, GroupReducer&) = nullptr;
};

using AdvantageRegistry = Registry<Advantage>;

/// All estimators of this build.
AdvantageRegistry make_advantage_registry();

/// `input.outcomes`, or the sums of token rewards where none are given; [S].
std::vector<double> outcomes_of(const AdvantageInput& input);

/// Writes `scalars[s]` on every loss token of sample s, as advantages and as returns.
AdvantageOutput broadcast_outcomes(const PackedLayout& layout, std::span<const double> scalars);

struct GroupStatistics {
  double mean = 0.0;
  double deviation = 0.0;
};
/// Of one group's rewards. Equal rewards have exactly their value as mean. ddof: 0 or 1.
GroupStatistics group_statistics(std::span<const size_t> group, std::span<const double> rewards, int ddof);

/// Calls body(sample indices) for each group of input.uids; a group of one is fail_lone_group().
void for_each_group(const AdvantageInput& input, std::string_view estimator,
                    const std::function<void(std::span<const size_t>)>& body);

/// [T] G_t = r_t + gamma G_{t+1} over trainable tokens, observations between them stepped over (traps T17); 0
/// at masked slots.
std::vector<float> rewards_to_go(const PackedLayout& layout, std::span<const float> rewards, double gamma);

/// The error for a group of one response, which has nothing to be compared with (traps T6).
[[noreturn]] void fail_lone_group(std::string_view estimator, uint64_t uid);

/// GAE before whitening: advantages and returns = advantages + values, on trainable tokens (traps T15).
AdvantageOutput gae_advantages(const AdvantageInput& input, const AdvantageParams& params);

/// Masked whitening over all ranks: (x - mean) / sqrt(var + 1e-8), var with Bessel's correction, mean and var
/// over loss tokens only, 0 at masked slots afterwards. Left as it is when all ranks together hold fewer than
/// 2 loss tokens. Every rank joins, also without tokens (traps T18). The result does not depend on how rows
/// are spread.
void whiten(std::span<float> values, std::span<const uint8_t> mask, GroupReducer& group);

}  // namespace verlc
