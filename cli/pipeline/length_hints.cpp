#include "pipeline/length_hints.hpp"

#include <cmath>

namespace verlc::pipeline {
namespace {

// The policy changes: what is old weighs less.
constexpr double kMostWeight = 64;

}  // namespace

void LengthHints::add(Mean& mean, double value) {
  if (mean.count >= kMostWeight) {
    mean.sum /= 2;
    mean.count /= 2;
  }
  mean.sum += value;
  mean.count += 1;
}

double LengthHints::value(const Mean& mean) {
  return mean.count > 0 ? mean.sum / mean.count : 0;
}

void LengthHints::note(size_t row, size_t response_length) {
  add(rows_[row], static_cast<double>(response_length));
  add(all_, static_cast<double>(response_length));
}

int64_t LengthHints::expected(size_t row) const {
  const auto found = rows_.find(row);
  return std::llround(value(found == rows_.end() ? all_ : found->second));
}

}  // namespace verlc::pipeline
