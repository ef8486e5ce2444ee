#include "host/metrics_service.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

uint32_t table_intern(void* self, verlc_string name, int32_t reduction) noexcept {
  const bool known = reduction >= 0 && reduction <= static_cast<int32_t>(Reduction::last);
  return static_cast<MetricsService*>(self)->intern(
      plugin::to_view(name), known ? static_cast<Reduction>(reduction) : Reduction::mean);
}

void table_put(void* self, uint32_t id, double value) noexcept {
  static_cast<MetricsService*>(self)->put(id, value);
}

}  // namespace

double MetricValue::value() const {
  if (count == 0) return 0;
  switch (reduction) {
    case Reduction::sum:
      return sum;
    case Reduction::mean:
      return sum / static_cast<double>(count);
    case Reduction::min:
      return min;
    case Reduction::max:
      return max;
    case Reduction::last:
      return last;
  }
  return 0;
}

MetricsService::MetricsService() : table_{VERLC_HEAD(verlc_metrics), this, table_intern, table_put} {}

uint32_t MetricsService::intern(std::string_view name, Reduction reduction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] = ids_.emplace(name, static_cast<uint32_t>(values_.size()));
  if (is_new) values_.push_back({.name = entry->first, .reduction = reduction});
  return entry->second;
}

void MetricsService::put(uint32_t id, double value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  check(id < values_.size(), "a metric number comes from intern()");
  MetricValue& metric = values_[id];
  metric.sum += value;
  metric.min = metric.count == 0 ? value : std::min(metric.min, value);
  metric.max = metric.count == 0 ? value : std::max(metric.max, value);
  metric.last = value;
  ++metric.count;
}

std::vector<MetricValue> MetricsService::drain() {
  std::vector<MetricValue> drained;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (MetricValue& metric : values_) {
    if (metric.count > 0) drained.push_back(metric);
    metric = {.name = metric.name, .reduction = metric.reduction};
  }
  std::sort(drained.begin(), drained.end(),
            [](const MetricValue& a, const MetricValue& b) { return a.name < b.name; });
  return drained;
}

}  // namespace verlc
