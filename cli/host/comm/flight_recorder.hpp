// The last collectives of this rank, kept at all times and printed when one is late.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace verlc {

/// Any thread.
class FlightRecorder {
 public:
  static constexpr size_t kCapacity = 64;

  /// What the rank is doing ("rollout", "update actor"); part of every later record.
  void set_phase(std::string phase);
  /// `watcher` is called by set_phase(), on its thread, before the phase begins; null = nobody. Set while no
  /// other thread calls set_phase().
  void watch_phases(std::function<void(const std::string& phase)> watcher);
  [[nodiscard]] std::string phase() const;
  /// A record begins; returns its number for finish().
  uint64_t start(const std::string& group, uint64_t sequence, const char* operation, uint64_t bytes);
  void finish(uint64_t record);
  /// The last `most` records, oldest first, one a line: "#12 world all_reduce 4096 bytes, update actor: done
  /// in 0.2 ms".
  [[nodiscard]] std::string dump(size_t most = 16) const;

 private:
  struct Record {
    std::string group;
    std::string phase;
    const char* operation = "";
    uint64_t sequence = 0;
    uint64_t bytes = 0;
    std::chrono::steady_clock::time_point started;
    std::chrono::steady_clock::time_point finished;
    bool done = false;
  };

  mutable std::mutex mutex_;
  std::string phase_ = "start";
  std::function<void(const std::string&)> watcher_;
  std::array<Record, kCapacity> records_;
  uint64_t count_ = 0;
};

}  // namespace verlc
