// Which groups carry a signal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verlc {

/// True for each group-mate set whose rewards all lie within `tolerance` (max - min, in double; traps T7):
/// its group-relative advantages are 0. Keyed by uid: a prompt drawn twice is two groups. [S], one entry per
/// sample.
std::vector<uint8_t> zero_variance_samples(std::span<const double> rewards, std::span<const uint64_t> uids,
                                           double tolerance = 0.0);

/// Samples whose group has a single member, which group-relative estimators reject; [S].
std::vector<uint8_t> lone_samples(std::span<const uint64_t> uids);

}  // namespace verlc
