#include "host/threads_service.hpp"

namespace verlc {

ThreadsService::ThreadsService(Executor& executor, CommService& comm)
    : executor_(executor), comm_(comm), table_{VERLC_HEAD(verlc_threads), this, count, run} {}

int32_t ThreadsService::count(void* self) noexcept {
  return static_cast<ThreadsService*>(self)->executor_.threads();
}

void ThreadsService::run(void* self, int32_t n, void (*task)(void* argument, int32_t i) VERLC_NOEXCEPT,
                         void* argument) noexcept {
  auto& service = *static_cast<ThreadsService*>(self);
  service.comm_.make_progress();
  service.executor_.parallel(n, task, argument);
}

}  // namespace verlc
