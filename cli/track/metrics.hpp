// Metrics of one step: each says how it is reduced, so that its value does not depend on how rows are spread
// over ranks (traps A38).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/exact_sum.hpp"
#include "algorithms/group_reducer.hpp"
#include "algorithms/metric_part.hpp"

namespace verlc {

enum class MetricKind {
  sum,
  mean,  ///< sum of values x weights over sum of weights
  min,
  max,
  last,  ///< a value that all ranks know (lr, epoch); should they differ, the largest is kept
};

/// Reduced values by name, ascending.
using MetricValues = std::map<std::string, double>;

/// Mean of each metric over those that hold it: one entry for each optimiser step of a training step, as verl
/// reports them. Losses add up over the micro-batches of one optimiser step, so each is reduced by itself
/// first.
MetricValues mean_of(std::span<const MetricValues> updates);

/// This rank's share of a step's metrics. A name keeps the kind it was first put with; another kind is a bug
/// of ours and stops the process. Not thread-safe.
class Metrics {
 public:
  void put_sum(std::string_view name, double value);
  /// One value of weight 1.
  void put_mean(std::string_view name, double value) { put_mean(name, value, 1.0); }
  /// `total` is already a sum of value x weight, `weight` the sum of weights; weight 0 declares the metric
  /// only.
  void put_mean(std::string_view name, double total, double weight);
  void put_min(std::string_view name, double value);
  void put_max(std::string_view name, double value);
  void put_last(std::string_view name, double value);
  /// One value per row: a mean of weight 1 each; `name`/mean, `name`/max and `name`/min, as verl names them.
  /// An empty list declares the three.
  void put_spread(const std::string& name, std::span<const double> values);
  /// Shares that a loss reported.
  void put_parts(std::span<const MetricPart> parts);
  /// Makes the name known without a value, for ranks that hold none.
  void declare(std::string_view name, MetricKind kind);

  /// Values over all ranks, equal on each. Every rank joins and has put or declared the same names; otherwise
  /// all ranks get Error(run). Means without weight and minima of nothing are left out. Clears this object.
  MetricValues reduce(GroupReducer& group);

 private:
  struct Entry {
    MetricKind kind = MetricKind::sum;
    ExactSum total{};
    ExactSum weight{};
    double extreme = 0.0;
  };
  Entry& entry(std::string_view name, MetricKind kind);

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace verlc
