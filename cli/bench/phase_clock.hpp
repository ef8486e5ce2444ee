// The phases of a running step, each between two measurements of the machine's limits.
#pragma once

#include <string>
#include <vector>

#include "bench/timer.hpp"
#include "pipeline/run_record.hpp"

namespace verlc::bench {

/// Follows the phases that a pipeline names. The time of measuring belongs to no phase. One thread.
class PhaseClock {
 public:
  /// `timer` must outlive this.
  PhaseClock(Timer& timer, Arithmetic arithmetic) : timer_(timer), arithmetic_(arithmetic) {}

  /// The running phase ends; `phase` begins. A phase that begins again adds to its time.
  void enter(const std::string& phase);
  /// The running phase ends; gives the seconds of each phase since the last call, with its limits.
  struct Phase {
    std::string name;
    double seconds = 0;
    Limits before, after;
  };
  std::vector<Phase> finish();

 private:
  Timer& timer_;
  Arithmetic arithmetic_;
  std::vector<Phase> phases_;
  size_t running_ = 0;         // index + 1; 0 = none
  pipeline::Stopwatch watch_;  // of the running phase
};

}  // namespace verlc::bench
