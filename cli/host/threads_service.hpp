// Host service "verlc.threads/1": the process's one team of threads, lent to engines.
#pragma once

#include "core/base/executor.hpp"
#include "host/comm_service.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// `executor` (normally the process's ThreadPool) and `comm` must outlive the service.
class ThreadsService {
 public:
  /// Between its tasks an engine does not look after its collectives, so each run() makes progress on them:
  /// then what was started early overlaps with computing.
  ThreadsService(Executor& executor, CommService& comm);
  ThreadsService(const ThreadsService&) = delete;
  ThreadsService& operator=(const ThreadsService&) = delete;
  [[nodiscard]] const verlc_threads* table() const { return &table_; }

 private:
  static int32_t count(void* self) noexcept;
  static void run(void* self, int32_t n, void (*task)(void* argument, int32_t i) VERLC_NOEXCEPT,
                  void* argument) noexcept;

  Executor& executor_;
  CommService& comm_;
  verlc_threads table_{};
};

}  // namespace verlc
