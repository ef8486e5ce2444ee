// An allocator that passes on and counts: what this engine holds by category, for memory_stats().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/memory/allocator.hpp"

namespace verlc::rollout {

class CountingAllocator final : public Allocator {
 public:
  /// `next` must outlive this object.
  explicit CountingAllocator(Allocator& next) : next_(next) {}

  void* allocate(size_t bytes, Category category) override;
  void release(void* block, size_t bytes, Category category) noexcept override;
  void push_scope(std::string_view name) override { next_.push_scope(name); }
  void pop_scope() noexcept override { next_.pop_scope(); }

  [[nodiscard]] uint64_t now(Category category) const { return counters_[index(category)].now.load(); }
  [[nodiscard]] uint64_t peak(Category category) const { return counters_[index(category)].peak.load(); }

 private:
  static size_t index(Category category) { return static_cast<size_t>(category); }
  struct Counter {
    std::atomic<uint64_t> now{0};
    std::atomic<uint64_t> peak{0};
  };
  Allocator& next_;
  std::array<Counter, kNumCategories> counters_;
};

}  // namespace verlc::rollout
