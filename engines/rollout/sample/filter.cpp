#include "rollout/sample/filter.hpp"

#include <algorithm>
#include <bit>

namespace verlc::rollout {
namespace {

/// Floats of (0, 1] order like their bits; the upper ones name a bucket (64 buckets per power of two).
constexpr int kBucketShift = 17;
constexpr size_t kNumBuckets = (0x3F800000u >> kBucketShift) + 1;

size_t bucket_of(float weight) {
  return std::min<size_t>(std::bit_cast<uint32_t>(weight) >> kBucketShift, kNumBuckets - 1);
}

/// Ids with a weight above 0 and of at least `least`, without a branch per id.
void collect(std::span<const float> weights, float least, std::vector<int32_t>& kept) {
  kept.resize(weights.size());
  size_t count = 0;
  for (size_t id = 0; id < weights.size(); ++id) {
    kept[count] = static_cast<int32_t>(id);
    count += static_cast<size_t>((weights[id] > 0) & (weights[id] >= least));
  }
  kept.resize(count);
}

}  // namespace

bool filters(const Sampling& sampling) {
  return sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0;
}

TokenFilter::TokenFilter() : measure_(kNumBuckets) {}

void TokenFilter::keep(std::span<const float> weights, const Sampling& sampling, std::vector<int32_t>& kept) {
  float least = 0;
  if (sampling.min_p > 0)
    least = static_cast<float>(sampling.min_p * *std::max_element(weights.begin(), weights.end()));
  collect(weights, least, kept);
  if (sampling.top_k > 0 && static_cast<uint64_t>(sampling.top_k) < kept.size())
    keep_largest(weights, Measure::count, static_cast<double>(sampling.top_k), kept);
  if (sampling.top_p < 1) {
    double mass = 0;
    for (const int32_t id : kept) mass += weights[static_cast<size_t>(id)];
    keep_largest(weights, Measure::mass, sampling.top_p * mass, kept);
  }
}

void TokenFilter::keep_largest(std::span<const float> weights, Measure measure, double limit,
                               std::vector<int32_t>& kept) {
  const auto weight = [&](int32_t id) { return weights[static_cast<size_t>(id)]; };
  const auto size = [&](int32_t id) { return measure == Measure::count ? 1.0 : double{weight(id)}; };
  std::fill(measure_.begin(), measure_.end(), 0.0);
  for (const int32_t id : kept) measure_[bucket_of(weight(id))] += size(id);
  double sum = 0;
  size_t bucket = kNumBuckets;
  while (bucket > 0 && sum + measure_[bucket - 1] < limit) sum += measure_[--bucket];
  if (bucket == 0) return;
  --bucket;
  boundary_.clear();
  for (const int32_t id : kept)
    if (bucket_of(weight(id)) == bucket) boundary_.push_back(id);
  std::sort(boundary_.begin(), boundary_.end(),
            [&](int32_t a, int32_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  size_t last = 0;
  sum += size(boundary_[last]);
  while (last + 1 < boundary_.size() && sum < limit) sum += size(boundary_[++last]);
  const int32_t last_id = boundary_[last];
  const float last_weight = weight(last_id);
  std::erase_if(kept, [&](int32_t id) {
    return weight(id) < last_weight || (weight(id) == last_weight && id > last_id);
  });
}

}  // namespace verlc::rollout
