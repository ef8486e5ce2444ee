// Host service "verlc.cancel/1": SIGINT, SIGTERM and SIGUSR1 ask for an orderly end; a second one ends at
// once.
#pragma once

#include <chrono>
#include <cstdint>

#include "verlc/plugin.h"

namespace verlc {

/// Scope 0 is the run.
inline constexpr uint64_t kRunScope = 0;
/// Work inside a training step is never cancelled: ranks would leave their collectives at different
/// micro-batches, and half of a step must not reach the weights. The step ends, then the run does.
inline constexpr uint64_t kStepScope = 1;

/// The flag is per process: signals know nothing smaller.
class CancelService {
 public:
  CancelService();
  CancelService(const CancelService&) = delete;
  CancelService& operator=(const CancelService&) = delete;

  /// Installs the handlers; the second signal leaves with exit code 130 at once. SIGUSR1 is how the launcher
  /// passes a signal through mpirun, which would kill the ranks on SIGINT.
  void install_handlers();
  /// [any] Asked to stop: by a signal or by request().
  [[nodiscard]] bool requested() const;
  /// [any] As if a signal had come.
  void request();
  /// Forgets a request: for tests and for programs that serve several runs.
  void reset();
  /// [any] A moment after which scope 0 counts as cancelled; max() = none.
  void set_deadline(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] const verlc_cancel* table() const { return &table_; }

 private:
  verlc_cancel table_{};
};

}  // namespace verlc
