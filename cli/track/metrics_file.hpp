// metrics.jsonl: one JSON object per step, kept over restarts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "track/metrics.hpp"

namespace verlc {

/// The file of one run, written by one rank. Lines are appended whole; nothing that was recorded is dropped,
/// but for steps that a resume does again. Not thread-safe.
class MetricsFile {
 public:
  /// Opens for appending; creates the file. A torn last line (a writer killed in the middle) is removed.
  /// Error(run) naming the path when that fails.
  explicit MetricsFile(std::filesystem::path path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  /// For a resume from a checkpoint of `step`: drops the lines of later steps by one atomic rewrite, keeps
  /// all others byte for byte. Returns how many were dropped.
  size_t drop_after(uint64_t step);

  /// The recorded values of one metric in file order, for instance to draw the curve of a resumed run whole.
  [[nodiscard]] std::vector<double> series(const std::string& name) const;

  /// Appends {"step": step, ...values}. Numbers that are not finite become null.
  void write(uint64_t step, const MetricValues& values);

  /// Makes what was written survive a power cut; call it before a checkpoint is published.
  void sync();

 private:
  void open();

  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace verlc
