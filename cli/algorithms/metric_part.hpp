// What an algorithm says about a micro-batch: this batch's share of a metric, ready to be added over
// micro-batches and ranks.
#pragma once

#include <string_view>

namespace verlc {

/// Share of one metric. kind `sum`: the metric is the sum of all `total`. kind `mean`: it is the sum of all
/// `total` over the sum of all `weight`. Names are verl's and live as long as the process.
struct MetricPart {
  enum class Kind { sum, mean };
  std::string_view name{};
  Kind kind = Kind::sum;
  double total = 0.0;
  double weight = 0.0;
};

}  // namespace verlc
