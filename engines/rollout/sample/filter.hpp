// Which tokens may be sampled at all: min-p, then top-k, then top-p, as one set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

/// True when any of top-k, top-p and min-p is on.
bool filters(const Sampling& sampling);

/// Fills `kept` with the ids that pass, ascending; never empty when some weight is positive. weights:
/// unnormalised probabilities at the sampling temperature.
///   min-p: weight >= min_p * the largest weight (Nguyen et al. 2024);
///   top-k: the k largest of what is left (Fan et al. 2018);
///   top-p: the fewest largest of what is left whose share of it reaches top_p (Holtzman et al. 2019).
/// Among equal weights the smaller id is the larger.
void keep_tokens(std::span<const float> weights, const Sampling& sampling, std::vector<int32_t>& kept);

}  // namespace verlc::rollout
