#include "launch/startup_log.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "launch/rank_context.hpp"

namespace verlc {
namespace {

int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t now_ns() {
  return clock_ns(CLOCK_REALTIME);
}

// A process that has hardly waited yet has lived about as long as it has computed.
int64_t process_start_ns() {
  return now_ns() - clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double milliseconds(int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

}  // namespace

StartupLog::StartupLog() {
  const int64_t own = process_start_ns();
  const char* passed = inside_launcher() ? std::getenv(kVariable) : nullptr;
  long long typed = 0, launched = 0;
  if (passed != nullptr && std::sscanf(passed, "%lld %lld", &typed, &launched) == 2 && typed <= launched &&
      launched <= own)
    stages_ = {{"verlc: recipe", typed}, {"mpirun", launched}};
  stages_.push_back({"rank: recipe", own});
}

void StartupLog::enter(const std::string& stage) {
  if (end_ == 0) stages_.push_back({stage, now_ns()});
}

bool StartupLog::finish(const std::string& result) {
  if (end_ != 0) return false;
  end_ = now_ns();
  result_ = result;
  return true;
}

std::string StartupLog::table() const {
  const int64_t typed = stages_.front().begin;
  std::string text = fmt::format("start-up: {:>8}  {:<20} {:>8}\n", "at ms", "stage", "ms");
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = stages_[i];
    const int64_t end = i + 1 < stages_.size() ? stages_[i + 1].begin : end_;
    text += fmt::format("start-up: {:>8.1f}  {:<20} {:>8.1f}\n", milliseconds(stage.begin - typed),
                        stage.name, milliseconds(end - stage.begin));
  }
  return text + fmt::format("start-up: {:>8.1f}  {}\n", milliseconds(end_ - typed), result_);
}

void StartupLog::pass_on() {
  ::setenv(kVariable, fmt::format("{} {}", process_start_ns(), now_ns()).c_str(), 1);
}

}  // namespace verlc
