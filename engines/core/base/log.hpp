// The seam to the log: a level, the component that speaks, one line of text. The host decides where it goes.
#pragma once

#include <string_view>

namespace verlc {

enum class LogLevel { debug = 0, info = 1, warn = 2, error = 3 };

class Log {
 public:
  virtual ~Log() = default;
  [[nodiscard]] virtual bool enabled(LogLevel level) const = 0;
  virtual void write(LogLevel level, std::string_view component, std::string_view message) = 0;
};

}  // namespace verlc
