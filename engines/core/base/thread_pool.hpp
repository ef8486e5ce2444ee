// The process's only compute threads: workers that spin for a short while between jobs, then sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/executor.hpp"

namespace verlc {

/// A fixed team. Calls of parallel() from different threads are served one after another.
class ThreadPool final : public Executor {
 public:
  /// `threads` counts the caller; `threads - 1` workers are started.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override;

  [[nodiscard]] int threads() const override { return static_cast<int>(workers_.size()) + 1; }
  void parallel(int n, void (*task)(void* arg, int i), void* arg) override;

 private:
  void work();
  void drain();
  bool await_job(uint32_t seen);

  struct Job {
    void (*task)(void* arg, int i) = nullptr;
    void* arg = nullptr;
    int count = 0;
  };

  std::mutex caller_;  // one job at a time
  Job job_;            // written only while no worker is inside a job
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> open_{0};  // generation that workers may still join; 0 = none
  std::atomic<int> next_{0};
  std::atomic<int> inside_{0};  // workers that are inside a job, or looking whether they may be
  std::atomic<bool> stop_{false};
  std::mutex sleep_;
  std::condition_variable wake_;
  std::atomic<int> sleepers_{0};
  std::vector<std::thread> workers_;
};

/// Number of hardware threads this process may use (its affinity mask), >= 1.
int available_threads();

}  // namespace verlc
