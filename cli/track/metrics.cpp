#include "track/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"

namespace verlc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double neutral(MetricKind kind) {
  return kind == MetricKind::min ? kInfinity : -kInfinity;
}

// Number of names and 48 bits of their digest, exact in doubles.
std::array<double, 2> fingerprint(const std::string& names, size_t count) {
  Digest digest;
  digest.update(names);
  constexpr size_t kDigits = 12;
  return {static_cast<double>(count),
          static_cast<double>(std::stoull(digest.hex().substr(0, kDigits), nullptr, 16))};
}

// All ranks see a mismatch, since all compare the same reduced numbers.
void check_same_names(const std::string& names, size_t count, GroupReducer& group) {
  std::array<double, 2> low = fingerprint(names, count), high = low;
  group.min(low);
  group.max(high);
  if (low == high) return;
  fail_run({.what = "ranks report different metrics in one step",
            .where = "metrics",
            .value = "here: " + names,
            .fix = "declare on each rank what any rank puts"});
}

}  // namespace

MetricValues mean_of(std::span<const MetricValues> updates) {
  std::map<std::string, std::pair<double, double>> totals;
  for (const MetricValues& update : updates)
    for (const auto& [name, value] : update) {
      totals[name].first += value;
      totals[name].second += 1.0;
    }
  MetricValues means;
  for (const auto& [name, total] : totals) means[name] = total.first / total.second;
  return means;
}

Metrics::Entry& Metrics::entry(std::string_view name, MetricKind kind) {
  const auto found = entries_.find(name);
  if (found != entries_.end()) {
    check(found->second.kind == kind, "a metric keeps its kind");
    return found->second;
  }
  Entry& added = entries_[std::string(name)];
  added.kind = kind;
  added.extreme = neutral(kind);
  return added;
}

void Metrics::declare(std::string_view name, MetricKind kind) {
  entry(name, kind);
}

void Metrics::put_sum(std::string_view name, double value) {
  entry(name, MetricKind::sum).total.add(value);
}

void Metrics::put_mean(std::string_view name, double total, double weight) {
  Entry& mean = entry(name, MetricKind::mean);
  if (weight == 0.0) return;
  mean.total.add(total);
  mean.weight.add(weight);
}

void Metrics::put_min(std::string_view name, double value) {
  Entry& least = entry(name, MetricKind::min);
  least.extreme = std::min(least.extreme, value);
}

void Metrics::put_max(std::string_view name, double value) {
  Entry& most = entry(name, MetricKind::max);
  most.extreme = std::max(most.extreme, value);
}

void Metrics::put_last(std::string_view name, double value) {
  entry(name, MetricKind::last).extreme = value;
}

void Metrics::put_spread(const std::string& name, std::span<const double> values) {
  declare(name + "/mean", MetricKind::mean);
  declare(name + "/max", MetricKind::max);
  declare(name + "/min", MetricKind::min);
  for (const double value : values) {
    put_mean(name + "/mean", value);
    put_max(name + "/max", value);
    put_min(name + "/min", value);
  }
}

void Metrics::put_parts(std::span<const MetricPart> parts) {
  for (const MetricPart& part : parts) {
    if (part.kind == MetricPart::Kind::sum)
      put_sum(part.name, part.total);
    else
      put_mean(part.name, part.total, part.weight);
  }
}

MetricValues Metrics::reduce(GroupReducer& group) {
  std::string names;
  for (const auto& [name, entry] : entries_)
    names += name + ":" + std::to_string(static_cast<int>(entry.kind)) + " ";
  check_same_names(names, entries_.size(), group);
  std::vector<ExactSum> sums;
  std::vector<double> lows, highs;
  for (const auto& [name, entry] : entries_) {
    sums.push_back(entry.total);
    sums.push_back(entry.weight);
    (entry.kind == MetricKind::min ? lows : highs).push_back(entry.extreme);
  }
  reduce_sums(sums, group);
  group.min(lows);
  group.max(highs);
  MetricValues values;
  size_t sum = 0, low = 0, high = 0;
  for (const auto& [name, entry] : entries_) {
    const double total = sums[sum].value(), weight = sums[sum + 1].value();
    const double extreme = entry.kind == MetricKind::min ? lows[low++] : highs[high++];
    sum += 2;
    if (entry.kind == MetricKind::sum)
      values[name] = total;
    else if (entry.kind == MetricKind::mean && weight != 0.0)
      values[name] = total / weight;
    else if (entry.kind != MetricKind::mean && extreme != neutral(entry.kind))
      values[name] = extreme;
  }
  entries_.clear();
  return values;
}

}  // namespace verlc
