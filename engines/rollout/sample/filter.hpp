// Which tokens may be sampled at all: min-p, then top-k, then top-p, as one set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

/// True when any of top-k, top-p and min-p is on.
bool filters(const Sampling& sampling);

/// Working memory for one thread; results do not depend on its history.
class TokenFilter {
 public:
  TokenFilter();

  /// Fills `kept` with the ids that pass, ascending; never empty when some weight is positive. weights:
  /// unnormalised probabilities at the sampling temperature, at most 1.
  ///   min-p: weight >= min_p * the largest weight (Nguyen et al. 2024);
  ///   top-k: the k largest of what is left (Fan et al. 2018);
  ///   top-p: the fewest largest of what is left whose share of it reaches top_p (Holtzman et al. 2019).
  /// Among equal weights the smaller id is the larger.
  void keep(std::span<const float> weights, const Sampling& sampling, std::vector<int32_t>& kept);

 private:
  enum class Measure { count, mass };
  void keep_largest(std::span<const float> weights, Measure measure, double limit,
                    std::vector<int32_t>& kept);

  std::vector<double> measure_;    // per bucket of weights
  std::vector<int32_t> boundary_;  // ids of the bucket in which the limit is reached
};

}  // namespace verlc::rollout
