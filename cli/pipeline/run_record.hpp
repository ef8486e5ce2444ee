// What a run writes and prints beside its model: resolved recipe, manifest, metrics, console.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/run_folder.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"
#include "track/console.hpp"
#include "track/metrics_file.hpp"

namespace verlc::pipeline {

/// On rank 0 it writes; on the other ranks every call does nothing.
class RunRecord {
 public:
  RunRecord(const Recipe& recipe, Session& session);

  /// Starts (or resumes behind `steps_done`): writes recipe.toml and manifest.json, cuts metrics.jsonl back
  /// to the checkpoint.
  void begin(uint64_t total_steps, uint64_t steps_done);
  void step(uint64_t step, const MetricValues& values, double seconds);
  void note(const std::string& text);
  /// Before a checkpoint is published.
  void sync();
  void end(const std::string& accuracy_name, std::optional<double> before, std::optional<double> after);

 private:
  const Recipe& recipe_;
  Session& session_;
  std::unique_ptr<MetricsFile> file_;
  std::unique_ptr<Console> console_;
};

/// Seconds since construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace verlc::pipeline
