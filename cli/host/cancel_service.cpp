#include "host/cancel_service.hpp"

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <limits>

namespace verlc {
namespace {

constexpr int kExitInterrupted = 130;

// The one exception to "no global state": a signal handler has nothing else to write to.
std::atomic<int> cancel_requests{0};
std::atomic<int64_t> deadline{std::numeric_limits<int64_t>::max()};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int) {
  if (cancel_requests.fetch_add(1) > 0) ::_exit(kExitInterrupted);
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool stop_requested() {
  if (cancel_requests.load(std::memory_order_relaxed) > 0) return true;
  const int64_t limit = deadline.load(std::memory_order_relaxed);
  return limit != std::numeric_limits<int64_t>::max() && now_ns() >= limit;
}

int32_t table_requested(void* /*self*/, uint64_t scope) noexcept {
  return scope != kStepScope && stop_requested() ? 1 : 0;
}
int64_t table_deadline(void* /*self*/, uint64_t /*scope*/) noexcept {
  return deadline.load();
}

}  // namespace

CancelService::CancelService() : table_{VERLC_HEAD(verlc_cancel), nullptr, table_requested, table_deadline} {}

void CancelService::install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(signal, &action, nullptr);
}

bool CancelService::requested() const {
  return stop_requested();
}
void CancelService::request() {
  cancel_requests.fetch_add(1);
}
void CancelService::reset() {
  cancel_requests.store(0);
  deadline.store(std::numeric_limits<int64_t>::max());
}

void CancelService::set_deadline(std::chrono::steady_clock::time_point moment) {
  deadline.store(
      moment == std::chrono::steady_clock::time_point::max()
          ? std::numeric_limits<int64_t>::max()
          : std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count());
}

}  // namespace verlc
