#include "host/comm/flight_recorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace verlc {

void FlightRecorder::watch_phases(std::function<void(const std::string&)> watcher) {
  watcher_ = std::move(watcher);
}

void FlightRecorder::set_phase(std::string phase) {
  if (watcher_) watcher_(phase);
  const std::lock_guard<std::mutex> lock(mutex_);
  phase_ = std::move(phase);
}

std::string FlightRecorder::phase() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return phase_;
}

uint64_t FlightRecorder::start(const std::string& group, uint64_t sequence, const char* operation,
                               uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  records_[count_ % kCapacity] = {.group = group,
                                  .phase = phase_,
                                  .operation = operation,
                                  .sequence = sequence,
                                  .bytes = bytes,
                                  .started = std::chrono::steady_clock::now(),
                                  .finished = {},
                                  .done = false};
  return count_++;
}

void FlightRecorder::finish(uint64_t record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (record + kCapacity < count_) return;  // overwritten since
  Record& entry = records_[record % kCapacity];
  entry.finished = std::chrono::steady_clock::now();
  entry.done = true;
}

std::string FlightRecorder::dump(size_t most) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t held = std::min<uint64_t>({count_, kCapacity, most});
  std::string text;
  for (uint64_t i = count_ - held; i < count_; ++i) {
    const Record& entry = records_[i % kCapacity];
    const auto end = entry.done ? entry.finished : std::chrono::steady_clock::now();
    const double milliseconds = std::chrono::duration<double, std::milli>(end - entry.started).count();
    text += fmt::format("#{} {} {} {} bytes, phase {}: {} {:.1f} ms\n", entry.sequence, entry.group,
                        entry.operation, entry.bytes, entry.phase, entry.done ? "done in" : "waiting for",
                        milliseconds);
  }
  return text;
}

}  // namespace verlc
