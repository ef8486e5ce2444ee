// Host service "verlc.threads/1": the process's one team of threads, lent to engines.
#pragma once

#include "core/base/executor.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// `executor` (normally the process's ThreadPool) must outlive the service.
class ThreadsService {
 public:
  explicit ThreadsService(Executor& executor);
  ThreadsService(const ThreadsService&) = delete;
  ThreadsService& operator=(const ThreadsService&) = delete;
  [[nodiscard]] const verlc_threads* table() const { return &table_; }

 private:
  verlc_threads table_{};
};

}  // namespace verlc
