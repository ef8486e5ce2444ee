#include "rollout/sample/filter.hpp"

#include <algorithm>

namespace verlc::rollout {
namespace {

bool limits_count(const Sampling& sampling, size_t vocab) {
  return sampling.top_k > 0 && sampling.top_k < static_cast<int64_t>(vocab);
}

/// Drops what cannot be in the nucleus: all weights below (1 - top_p) / V of the mass together are less than
/// what the nucleus leaves out. Half of that bound absorbs rounding.
void drop_small(std::span<const float> weights, double top_p, double mass, std::vector<int32_t>& kept) {
  const double bound = 0.5 * (1.0 - top_p) * mass / static_cast<double>(weights.size());
  std::erase_if(kept, [&](int32_t id) { return weights[static_cast<size_t>(id)] < bound; });
}

void keep_nucleus(std::span<const float> weights, double top_p, std::vector<int32_t>& kept) {
  double mass = 0;
  for (const int32_t id : kept) mass += weights[static_cast<size_t>(id)];
  drop_small(weights, top_p, mass, kept);
  std::sort(kept.begin(), kept.end(), [&](int32_t a, int32_t b) {
    const float wa = weights[static_cast<size_t>(a)];
    const float wb = weights[static_cast<size_t>(b)];
    return wa != wb ? wa > wb : a < b;
  });
  double sum = 0;
  size_t count = 0;
  while (count < kept.size() && sum < top_p * mass) sum += weights[static_cast<size_t>(kept[count++])];
  kept.resize(std::max<size_t>(count, 1));
}

}  // namespace

bool filters(const Sampling& sampling) {
  return sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0;
}

void keep_tokens(std::span<const float> weights, const Sampling& sampling, std::vector<int32_t>& kept) {
  kept.clear();
  const float largest = *std::max_element(weights.begin(), weights.end());
  const auto least = static_cast<float>(sampling.min_p * largest);
  for (size_t id = 0; id < weights.size(); ++id)
    if (weights[id] > 0 && weights[id] >= least) kept.push_back(static_cast<int32_t>(id));
  if (limits_count(sampling, weights.size()) && static_cast<size_t>(sampling.top_k) < kept.size()) {
    const auto last = kept.begin() + sampling.top_k;
    std::nth_element(kept.begin(), last, kept.end(), [&](int32_t a, int32_t b) {
      const float wa = weights[static_cast<size_t>(a)];
      const float wb = weights[static_cast<size_t>(b)];
      return wa != wb ? wa > wb : a < b;
    });
    kept.erase(last, kept.end());
    std::sort(kept.begin(), kept.end());
  }
  if (sampling.top_p < 1 && !kept.empty()) {
    keep_nucleus(weights, sampling.top_p, kept);
    std::sort(kept.begin(), kept.end());
  }
}

}  // namespace verlc::rollout
