// All host services in one object, and the verlc_host table that plugins are opened with.
#pragma once

#include "core/base/executor.hpp"
#include "core/memory/caching_allocator.hpp"
#include "host/cancel_service.hpp"
#include "host/comm_service.hpp"
#include "host/log_service.hpp"
#include "host/memory_service.hpp"
#include "host/metrics_service.hpp"
#include "host/threads_service.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// Lives from before the first plugin is opened to after the last is shut down.
class HostServices {
 public:
  HostServices(CachingAllocator& allocator, Executor& executor, LogService& log);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  [[nodiscard]] const verlc_host* table() const { return &table_; }
  [[nodiscard]] CachingAllocator& allocator() { return allocator_; }
  [[nodiscard]] LogService& log() { return log_; }
  [[nodiscard]] CancelService& cancel() { return cancel_; }
  [[nodiscard]] MetricsService& metrics() { return metrics_; }
  [[nodiscard]] CommService& comm() { return comm_; }

 private:
  static const void* find(void* self, const char* id) noexcept;

  CachingAllocator& allocator_;
  LogService& log_;
  MemoryService memory_;
  CancelService cancel_;
  MetricsService metrics_;
  CommService comm_;
  ThreadsService threads_;
  verlc_host table_{};
};

}  // namespace verlc
