// The plainest allocator: the C library's heap with a counter per category. For tests and small tools.
#pragma once

#include <array>
#include <atomic>

#include "core/memory/allocator.hpp"

namespace verlc {

class HeapAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, Category category) override;
  void release(void* block, size_t bytes, Category category) noexcept override;
  void push_scope(std::string_view) override {}
  void pop_scope() noexcept override {}
  /// Bytes live now in a category.
  [[nodiscard]] int64_t live(Category category) const { return live_[static_cast<size_t>(category)].load(); }
  /// Bytes live now in all categories.
  [[nodiscard]] int64_t live() const;

 private:
  std::array<std::atomic<int64_t>, kNumCategories> live_{};
};

}  // namespace verlc
