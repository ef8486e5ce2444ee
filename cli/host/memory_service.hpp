// Host service "verlc.memory/1": the process's CachingAllocator behind the C table.
#pragma once

#include "core/memory/caching_allocator.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// Any thread. `allocator` must outlive the service.
class MemoryService {
 public:
  explicit MemoryService(CachingAllocator& allocator);
  MemoryService(const MemoryService&) = delete;
  MemoryService& operator=(const MemoryService&) = delete;
  [[nodiscard]] const verlc_memory* table() const { return &table_; }

 private:
  verlc_memory table_{};
};

}  // namespace verlc
