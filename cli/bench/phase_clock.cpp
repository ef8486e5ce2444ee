#include "bench/phase_clock.hpp"

#include <algorithm>

namespace verlc::bench {
namespace {

constexpr double kMeasured = 0.1;  // seconds of each limit

}  // namespace

void PhaseClock::enter(const std::string& phase) {
  const double seconds = watch_.seconds();
  const Limits limits = timer_.limits({1, 1, arithmetic_}, kMeasured);
  if (running_ > 0) {
    phases_[running_ - 1].seconds += seconds;
    phases_[running_ - 1].after = limits;
  }
  const auto found =
      std::find_if(phases_.begin(), phases_.end(), [&](const Phase& known) { return known.name == phase; });
  running_ = static_cast<size_t>(found - phases_.begin()) + 1;
  if (found == phases_.end()) phases_.push_back({phase, 0, limits, limits});
  watch_ = {};
}

std::vector<PhaseClock::Phase> PhaseClock::finish() {
  enter("");
  phases_.pop_back();
  running_ = 0;
  std::vector<Phase> done = std::move(phases_);
  phases_.clear();
  return done;
}

}  // namespace verlc::bench
