// Times a body in turn with the machine's limits: on a shared machine both are slowed by the same neighbours,
// so that the ratio means something where seconds don't.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/peak.hpp"

namespace verlc::bench {

/// What a body must do at least. bytes 0 = memory does not limit it.
struct Work {
  double flops = 0;
  double bytes = 0;  ///< read from memory
  Arithmetic arithmetic = Arithmetic::f32;
};

/// Per second; bytes 0 = was not measured.
struct Limits {
  double flops = 0, bytes = 0;
};
Limits mean(const Limits& a, const Limits& b);

/// The shortest time for `work`: arithmetic and memory overlap. 0 for no work.
double floor_seconds(const Work& work, const Limits& limits);

struct Timing {
  double best = 0, median = 0;  ///< seconds of the body
  double best_share = 0;        ///< floor at the highest limits seen / best
  double median_share = 0;      ///< median over the rounds of floor / time, 1 = at the limit
  double floor = 0;             ///< seconds, at the mean of all limits
  Limits first, last;           ///< before the first and after the last round
  int rounds = 0;
};

/// One at a time on its executor.
class Timer {
 public:
  /// `seconds`: how long time() goes on with a body. `read_bytes`: size of the memory that is read for the
  /// bandwidth, allocated at the first body that needs it.
  Timer(Executor& threads, double seconds, size_t read_bytes);

  /// What the machine does now, in about `seconds` for each of the limits that `work` has.
  Limits limits(const Work& work, double seconds);
  /// Calls `body` to warm up, then alternates it with limits(): at least 3 rounds.
  Timing time(const Work& work, const std::function<void()>& body);
  /// Seconds of one call. One thread is timed by its own CPU clock, so that other processes count less; a
  /// team by the wall.
  double seconds_of(const std::function<void()>& body) const;
  [[nodiscard]] Executor& threads() const { return threads_; }
  /// Bytes that this timer holds for the bandwidth.
  [[nodiscard]] double held_bytes() const { return memory_ ? static_cast<double>(memory_->size()) : 0; }

 private:
  Executor& threads_;
  double seconds_;
  size_t read_bytes_;
  std::unique_ptr<ReadBuffer> memory_;
  double rate_[2] = {0, 0};  // flops per second of each arithmetic when last measured
};

/// The middle value (of an even number the upper); `values` is not empty.
double median(std::vector<double> values);

/// Collects rounds of bodies that are not repeated by a Timer, such as the phases of a step.
class Rounds {
 public:
  explicit Rounds(const Work& work) : work_(work) {}
  void add(double seconds, const Limits& before, const Limits& after);
  [[nodiscard]] bool empty() const { return times_.empty(); }
  [[nodiscard]] Timing timing() const;

 private:
  Work work_;
  std::vector<double> times_, shares_, floors_;
  Limits first_, last_, top_;
};

}  // namespace verlc::bench
