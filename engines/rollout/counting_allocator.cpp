#include "rollout/counting_allocator.hpp"

namespace verlc::rollout {

void* CountingAllocator::allocate(size_t bytes, Category category) {
  void* block = next_.allocate(bytes, category);
  Counter& counter = counters_[index(category)];
  const uint64_t now = counter.now.fetch_add(bytes) + bytes;
  uint64_t peak = counter.peak.load();
  while (now > peak && !counter.peak.compare_exchange_weak(peak, now)) {
  }
  return block;
}

void CountingAllocator::release(void* block, size_t bytes, Category category) noexcept {
  next_.release(block, bytes, category);
  counters_[index(category)].now.fetch_sub(bytes);
}

}  // namespace verlc::rollout
