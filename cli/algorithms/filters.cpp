#include "algorithms/filters.hpp"

#include <algorithm>

#include "algorithms/packed.hpp"
#include "core/base/check.hpp"

namespace verlc {

std::vector<uint8_t> zero_variance_samples(std::span<const double> rewards, std::span<const uint64_t> uids,
                                           double tolerance) {
  check(rewards.size() == uids.size(), "one uid per reward");
  std::vector<uint8_t> flat(rewards.size(), 0);
  for (const std::vector<size_t>& group : groups_by_uid(uids)) {
    double low = rewards[group.front()], high = low;
    for (const size_t s : group) {
      low = std::min(low, rewards[s]);
      high = std::max(high, rewards[s]);
    }
    if (!(high - low <= tolerance)) continue;
    for (const size_t s : group) flat[s] = 1;
  }
  return flat;
}

std::vector<uint8_t> lone_samples(std::span<const uint64_t> uids) {
  std::vector<uint8_t> lone(uids.size(), 0);
  for (const std::vector<size_t>& group : groups_by_uid(uids))
    if (group.size() == 1) lone[group.front()] = 1;
  return lone;
}

}  // namespace verlc
