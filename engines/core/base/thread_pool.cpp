#include "core/base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>

namespace verlc {
namespace {

// About 50 us of polling: longer than the gap between two kernels of one layer, shorter than a scheduler
// slice.
constexpr int kSpins = 20000;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < std::max(1, threads); ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  {
    const std::lock_guard<std::mutex> lock(sleep_);
    wake_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::drain() {
  for (;;) {
    const int i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= job_.count) return;
    job_.task(job_.arg, i);
  }
}

void ThreadPool::parallel(int n, void (*task)(void* arg, int i), void* arg) {
  if (workers_.empty() || n <= 1) {
    for (int i = 0; i < n; ++i) task(arg, i);
    return;
  }
  const std::lock_guard<std::mutex> turn(caller_);
  job_ = {task, arg, n};
  next_.store(0, std::memory_order_relaxed);
  uint32_t generation = generation_.load() + 1;
  if (generation == 0) generation = 1;  // 0 means that no job is open
  open_.store(generation);
  generation_.store(generation);  // sequentially consistent: ordered against the sleeper's check below
  if (sleepers_.load() > 0) {
    const std::lock_guard<std::mutex> lock(sleep_);
    wake_.notify_all();
  }
  drain();
  // All indices are taken. A worker that has not come yet need not come: either it sees that the job is
  // closed, or it is counted in inside_ before that and waited for.
  open_.store(0);
  for (int spins = 0; inside_.load() != 0; ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

// Waits for a generation other than `seen`; false when the pool stops.
bool ThreadPool::await_job(uint32_t seen) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (generation_.load(std::memory_order_acquire) != seen) return !stop_.load();
    pause();
  }
  std::unique_lock<std::mutex> lock(sleep_);
  sleepers_.fetch_add(1);
  wake_.wait(lock, [&] { return generation_.load() != seen; });
  sleepers_.fetch_sub(1);
  return !stop_.load();
}

void ThreadPool::work() {
  uint32_t seen = 0;
  while (await_job(seen)) {
    seen = generation_.load();
    inside_.fetch_add(1);
    if (open_.load() == seen) drain();
    inside_.fetch_sub(1);
  }
}

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace verlc
