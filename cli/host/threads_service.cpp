#include "host/threads_service.hpp"

namespace verlc {
namespace {

int32_t count(void* self) noexcept {
  return static_cast<Executor*>(self)->threads();
}

void run(void* self, int32_t n, void (*task)(void* argument, int32_t i) VERLC_NOEXCEPT,
         void* argument) noexcept {
  static_cast<Executor*>(self)->parallel(n, task, argument);
}

}  // namespace

ThreadsService::ThreadsService(Executor& executor)
    : table_{VERLC_HEAD(verlc_threads), &executor, count, run} {}

}  // namespace verlc
