// What the person in front of the terminal sees: one line per step, a curve and the accuracies at the end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "track/curve.hpp"
#include "track/metrics.hpp"

namespace verlc {

/// How to print.
struct ConsoleStyle {
  bool color = false;    ///< ANSI colours and a bar: a terminal
  bool unicode = false;  ///< block characters: a UTF-8 locale
};

/// The style for a stream: plain unless it is a terminal (and NO_COLOR is not set), Unicode by the locale's
/// variables.
ConsoleStyle console_style(std::FILE* stream);

/// Progress of one run, printed by one rank. Writes whole lines and flushes. Not thread-safe.
class Console {
 public:
  /// `stream` must outlive this object. `earlier`: what a resumed run recorded before, one value per step of
  /// headline_metric(), so that the curve shows the whole run.
  Console(std::FILE* stream, ConsoleStyle style, uint64_t total_steps, std::vector<double> earlier = {});

  /// One line: step / total, reward (critic/score/mean; SFT: loss) with its change, log-prob gap
  /// (training/rollout_probs_diff_max), response length, tokens/s (perf/throughput), time left. What is
  /// absent from `values` is left out. `seconds`: time this step took.
  void step(uint64_t step, const MetricValues& values, double seconds);

  /// A line about something beside the steps (validation, checkpoint).
  void note(const std::string& text);

  /// At the end: the curve of rewards (SFT: losses), if there were at least two steps.
  void curve();
  /// "name: 0.412 before, 0.934 after".
  void before_after(const std::string& name, double before, double after);

 private:
  void print(const std::string& line);

  std::FILE* stream_;
  ConsoleStyle style_;
  uint64_t total_steps_;
  std::string curve_title_;
  std::vector<double> series_;
  double mean_seconds_ = 0.0;
};

/// The metric of the curve: critic/score/mean, or train/loss for SFT.
const char* headline_metric(bool sft);

/// Seconds as "48s", "12m03s", "3h07m", "2d04h".
std::string short_duration(double seconds);

}  // namespace verlc
