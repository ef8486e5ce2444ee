#include "bench/timer.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include "core/base/check.hpp"

namespace verlc::bench {
namespace {

constexpr double kShortest = 0.001, kLongest = 0.2;  // seconds of one measurement of a limit

double now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

Limits mean(const Limits& a, const Limits& b) {
  return {(a.flops + b.flops) / 2, (a.bytes + b.bytes) / 2};
}

double floor_seconds(const Work& work, const Limits& limits) {
  double seconds = 0;
  if (work.flops > 0 && limits.flops > 0) seconds = work.flops / limits.flops;
  if (work.bytes > 0 && limits.bytes > 0) seconds = std::max(seconds, work.bytes / limits.bytes);
  return seconds;
}

double median(std::vector<double> values) {
  check(!values.empty(), "a median is of at least one value");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void Rounds::add(double seconds, const Limits& before, const Limits& after) {
  if (times_.empty()) first_ = before;
  last_ = after;
  for (const Limits& limits : {before, after}) {
    top_.flops = std::max(top_.flops, limits.flops);
    top_.bytes = std::max(top_.bytes, limits.bytes);
  }
  const double floor = floor_seconds(work_, mean(before, after));
  times_.push_back(seconds);
  floors_.push_back(floor);
  shares_.push_back(seconds > 0 ? floor / seconds : 0);
}

Timing Rounds::timing() const {
  Timing timing;
  timing.best = *std::min_element(times_.begin(), times_.end());
  timing.median = median(times_);
  timing.best_share = timing.best > 0 ? floor_seconds(work_, top_) / timing.best : 0;
  timing.median_share = median(shares_);
  timing.floor = median(floors_);
  timing.first = first_;
  timing.last = last_;
  timing.rounds = static_cast<int>(times_.size());
  return timing;
}

Timer::Timer(Executor& threads, double seconds, size_t read_bytes)
    : threads_(threads), seconds_(seconds), read_bytes_(read_bytes) {}

double Timer::seconds_of(const std::function<void()>& body) const {
  const clockid_t clock = threads_.threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = now(clock);
  body();
  return std::max(now(clock) - start, 1e-9);
}

Limits Timer::limits(const Work& work, double seconds) {
  seconds = std::clamp(seconds, kShortest, kLongest);
  Limits limits;
  if (work.flops > 0) {
    double& rate = rate_[static_cast<int>(work.arithmetic)];
    const double one = peak_flops(threads_, work.arithmetic, 1);
    for (int pass = rate > 0 ? 1 : 0; pass < 2; ++pass) {
      const auto steps = pass == 0 ? int64_t{100'000} : static_cast<int64_t>(rate * seconds / one) + 1;
      rate =
          one * static_cast<double>(steps) / seconds_of([&] { peak_loop(threads_, work.arithmetic, steps); });
    }
    limits.flops = rate;
  }
  if (work.bytes > 0) {
    if (!memory_) memory_ = std::make_unique<ReadBuffer>(read_bytes_);
    const auto bytes =
        static_cast<size_t>(std::clamp(seconds * 2e10, std::min(8e6, static_cast<double>(memory_->size())),
                                       static_cast<double>(memory_->size())));
    volatile float sum = 0;
    limits.bytes = static_cast<double>(bytes) / seconds_of([&] { sum = memory_->read(threads_, bytes); });
    check(sum > 0, "the memory that is read holds ones");
  }
  return limits;
}

Timing Timer::time(const Work& work, const std::function<void()>& body) {
  double estimate = seconds_of(body);
  if (estimate < 1) estimate = seconds_of(body);
  Rounds rounds(work);
  Limits before = limits(work, estimate);
  const double begin = now(CLOCK_MONOTONIC);
  for (int round = 0; round < 3 || (now(CLOCK_MONOTONIC) - begin < seconds_ && round < 1000); ++round) {
    const double time = seconds_of(body);
    const Limits after = limits(work, estimate);
    rounds.add(time, before, after);
    before = after;
  }
  return rounds.timing();
}

}  // namespace verlc::bench
