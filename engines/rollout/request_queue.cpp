#include "rollout/request_queue.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "verlc/plugin.hpp"

namespace verlc::rollout {

size_t RequestQueue::submit(std::vector<Request> requests) {
  const std::lock_guard lock(mutex_);
  std::unordered_set<uint64_t> ids;
  for (const Request& request : requests)
    if (unfinished_.count(request.id) > 0 || !ids.insert(request.id).second)
      throw plugin::Failure(VERLC_E_ARGUMENT,
                            fmt::format("request id {} is that of an unfinished one", request.id));
  const size_t accepted = std::min(requests.size(), capacity_ - std::min(capacity_, unfinished_.size()));
  for (size_t i = 0; i < accepted; ++i) {
    unfinished_.insert(requests[i].id);
    arrivals_.requests.push_back(std::move(requests[i]));
  }
  return accepted;
}

void RequestQueue::abort(std::span<const uint64_t> ids) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t id : ids)
    if (unfinished_.count(id) > 0) arrivals_.aborts.push_back(id);
}

RequestQueue::Arrivals RequestQueue::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(arrivals_, {});
}

void RequestQueue::finished(uint64_t id) {
  const std::lock_guard lock(mutex_);
  unfinished_.erase(id);
  std::erase(arrivals_.aborts, id);
}

size_t RequestQueue::num_unfinished() const {
  const std::lock_guard lock(mutex_);
  return unfinished_.size();
}

}  // namespace verlc::rollout
