// Where the time goes between the command and a run's first result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verlc {

/// Stages of the start of this process, each from the end of the one before it. One thread. Times are of the
/// system clock, since the launcher's and the ranks' are joined; they mean something on one host only.
class StartupLog {
 public:
  /// The stages before this moment: those that the launcher passed on, and this process's own start.
  StartupLog();

  /// The running stage ends and `stage` begins. Does nothing after finish().
  void enter(const std::string& stage);
  /// The running stage ends with the first result. False when it has been told before.
  bool finish(const std::string& result);
  /// One line a stage: milliseconds since the command, the stage and its own milliseconds.
  [[nodiscard]] std::string table() const;

  /// Lets the ranks that this process is about to launch count from its start, by an environment variable.
  static void pass_on();
  /// Name of that variable.
  static constexpr const char* kVariable = "VERLC_STARTED";

 private:
  struct Stage {
    std::string name;
    int64_t begin = 0;  // ns
  };
  std::vector<Stage> stages_;
  std::string result_;
  int64_t end_ = 0;
};

}  // namespace verlc
