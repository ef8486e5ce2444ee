// Host service "verlc.metrics/1": numbers that engines report, reduced over the micro-batches of a step.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verlc/plugin.h"

namespace verlc {

enum class Reduction : int32_t { sum = 0, mean = 1, min = 2, max = 3, last = 4 };

/// What one metric holds since the last drain, not yet reduced over ranks.
struct MetricValue {
  std::string name;
  Reduction reduction = Reduction::mean;
  double sum = 0;
  double min = 0;
  double max = 0;
  double last = 0;
  uint64_t count = 0;  ///< numbers put; 0 = none, the other fields mean nothing
  /// By the metric's reduction, over this rank's numbers.
  [[nodiscard]] double value() const;
};

/// Any thread.
class MetricsService {
 public:
  MetricsService();
  MetricsService(const MetricsService&) = delete;
  MetricsService& operator=(const MetricsService&) = delete;

  /// Number of a metric; the first reduction given for a name stays. Unknown reductions count as mean.
  uint32_t intern(std::string_view name, Reduction reduction);
  void put(uint32_t id, double value);
  /// Metrics with numbers since the last drain, by ascending name; clears the numbers and keeps the ids.
  std::vector<MetricValue> drain();
  [[nodiscard]] const verlc_metrics* table() const { return &table_; }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<MetricValue> values_;
  verlc_metrics table_{};
};

}  // namespace verlc
