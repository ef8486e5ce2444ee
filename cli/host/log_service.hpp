// Host service "verlc.log/1": one line per message, whole lines only, to a sink that the program chooses.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/log.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// Receives a finished line without its newline; called by one thread at a time.
using LineSink = std::function<void(LogLevel level, std::string_view line)>;

/// Any thread. Lines read "warn fsdp: text", with "[rank 1] " before them when `rank` >= 0.
class LogService final : public Log {
 public:
  /// Without a sink, lines go to standard error.
  explicit LogService(LogLevel lowest = LogLevel::info, int rank = -1, LineSink sink = nullptr);
  LogService(const LogService&) = delete;
  LogService& operator=(const LogService&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const override { return level >= lowest_; }
  void write(LogLevel level, std::string_view component, std::string_view message) override;
  [[nodiscard]] const verlc_log* table() const { return &table_; }

 private:
  LogLevel lowest_;
  std::string prefix_;
  LineSink sink_;
  std::mutex writing_;
  verlc_log table_{};
};

}  // namespace verlc
