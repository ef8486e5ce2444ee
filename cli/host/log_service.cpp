#include "host/log_service.hpp"

#include <cstdio>
#include <utility>

#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

constexpr const char* kLevelNames[] = {"debug", "info", "warn", "error"};

LogLevel level_of(int32_t level) {
  return level <= 0 ? LogLevel::debug : level >= 3 ? LogLevel::error : static_cast<LogLevel>(level);
}

int32_t table_enabled(void* self, int32_t level) noexcept {
  return static_cast<LogService*>(self)->enabled(level_of(level)) ? 1 : 0;
}

void table_write(void* self, int32_t level, verlc_string component, verlc_string message) noexcept {
  plugin::guard(nullptr, [&] {
    static_cast<LogService*>(self)->write(level_of(level), plugin::to_view(component),
                                          plugin::to_view(message));
  });
}

void write_to_stderr(LogLevel /*level*/, std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

LogService::LogService(LogLevel lowest, int rank, LineSink sink)
    : lowest_(lowest),
      prefix_(rank < 0 ? "" : "[rank " + std::to_string(rank) + "] "),
      sink_(sink ? std::move(sink) : write_to_stderr),
      table_{VERLC_HEAD(verlc_log), this, table_enabled, table_write} {}

void LogService::write(LogLevel level, std::string_view component, std::string_view message) {
  if (!enabled(level)) return;
  std::string line = prefix_;
  line.append(kLevelNames[static_cast<size_t>(level)]).append(" ").append(component).append(": ");
  for (const char c : message) {  // one line whatever the text holds
    line += c == '\n' ? ' ' : c;
  }
  const std::lock_guard<std::mutex> lock(writing_);
  sink_(level, line);
}

}  // namespace verlc
