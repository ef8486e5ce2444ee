// The allocator of an engine inside a shared object: every block comes from the host's memory service.
#pragma once

#include <array>

#include "core/memory/allocator.hpp"
#include "verlc/plugin.h"

namespace verlc {

class HostAllocator final : public Allocator {
 public:
  /// `service` must outlive this object.
  explicit HostAllocator(const verlc_memory* service);
  void* allocate(size_t bytes, Category category) override;
  void release(void* block, size_t bytes, Category category) noexcept override;
  void push_scope(std::string_view name) override;
  void pop_scope() noexcept override;
  /// The host's number of a category, as in verlc_memory_stat.
  [[nodiscard]] uint32_t host_category(Category category) const;

 private:
  const verlc_memory* service_;
  std::array<uint32_t, kNumCategories> categories_{};
};

}  // namespace verlc
