// What other threads hand to the engine: requests and aborts, until the next step takes them.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

/// Any thread.
class RequestQueue {
 public:
  /// `capacity`: unfinished requests at once.
  explicit RequestQueue(size_t capacity) : capacity_(capacity) {}

  /// Takes the first requests as far as there is room and returns how many. Throws Failure(VERLC_E_ARGUMENT),
  /// taking none, when one of them has the id of an unfinished one.
  size_t submit(std::vector<Request> requests);
  /// Ids of no unfinished request are ignored.
  void abort(std::span<const uint64_t> ids);

  struct Arrivals {
    std::vector<Request> requests;
    std::vector<uint64_t> aborts;  ///< to be applied after the requests
  };
  Arrivals take();
  /// The request has its completion: its id is free again.
  void finished(uint64_t id);
  /// Accepted and not yet finished.
  [[nodiscard]] size_t num_unfinished() const;

 private:
  size_t capacity_;
  mutable std::mutex mutex_;
  Arrivals arrivals_;
  std::unordered_set<uint64_t> unfinished_;
};

}  // namespace verlc::rollout
