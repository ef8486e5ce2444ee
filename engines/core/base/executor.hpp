// The seam to threads: whoever owns the process hands out one Executor; nothing below it starts a thread.
#pragma once

#include <cstdint>
#include <type_traits>

namespace verlc {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Number of threads that parallel() uses, the caller included; >= 1.
  [[nodiscard]] virtual int threads() const = 0;
  /// Calls task(arg, i) once for each i in [0, n), on any thread, and returns when all are done. Not
  /// reentrant: a task must not call parallel(). Tasks must not throw.
  virtual void parallel(int n, void (*task)(void* arg, int i), void* arg) = 0;

  /// parallel() over a callable taking the index.
  template <typename F>
  void for_each(int n, F&& body) {
    using Body = std::remove_reference_t<F>;
    parallel(
        n, [](void* arg, int i) { (*static_cast<Body*>(arg))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }
};

/// Runs everything on the calling thread.
class InlineExecutor final : public Executor {
 public:
  [[nodiscard]] int threads() const override { return 1; }
  void parallel(int n, void (*task)(void* arg, int i), void* arg) override {
    for (int i = 0; i < n; ++i) task(arg, i);
  }
};

}  // namespace verlc
