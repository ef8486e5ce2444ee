// The process's allocator: small blocks come from free lists by size class, large ones from one arena in
// which freed neighbours join, so a step like the one before touches no new page; each block is booked under
// its category and the scope of the thread that asked.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/memory/allocator.hpp"

namespace verlc {

/// What one category or one scope holds.
struct MemoryUsage {
  std::string name;
  uint64_t now = 0;     ///< bytes asked for and not yet released
  uint64_t peak = 0;    ///< largest `now`
  uint64_t blocks = 0;  ///< live blocks
};

/// Any thread; critical sections hold no system call. Counters are of the bytes asked for, so they add up
/// exactly: the sum over categories = the sum over scopes = used().
class CachingAllocator final : public Allocator {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  explicit CachingAllocator(uint64_t limit = kNoLimit);
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  /// Gives everything back; blocks still live become invalid.
  ~CachingAllocator() override;

  void* allocate(size_t bytes, Category category) override;
  void release(void* block, size_t bytes, Category category) noexcept override;
  void push_scope(std::string_view name) override;
  void pop_scope() noexcept override;

  /// Number of a category by name; the eight of Category have their own values, other names get the next
  /// number.
  uint32_t intern_category(std::string_view name);
  /// As allocate(), with a category number and an alignment (power of two, at most 4096).
  void* allocate_tagged(size_t bytes, uint32_t category, size_t alignment);
  /// The block must be live and of this size and category: anything else stops the process (broken
  /// invariant).
  void release_tagged(void* block, size_t bytes, uint32_t category) noexcept;
  /// Books memory that came from elsewhere under a category and the scope "(elsewhere)".
  void account(uint32_t category, int64_t delta_bytes) noexcept;

  [[nodiscard]] uint64_t limit() const;
  [[nodiscard]] uint64_t used() const;
  [[nodiscard]] uint64_t peak() const;
  /// Free bytes with pages. Before a large block takes new pages, free ones go back to the system until all
  /// together are at most 5/4 of the peak plus 64 MiB.
  [[nodiscard]] uint64_t cached() const;
  [[nodiscard]] std::vector<MemoryUsage> by_category() const;
  /// Scopes with their full path "update/layer.3/attention"; the largest `now` first.
  [[nodiscard]] std::vector<MemoryUsage> by_scope() const;
  /// Sets every peak to its present value.
  void reset_peaks();
  /// Gives the free pages of the arena back to the system.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace verlc
