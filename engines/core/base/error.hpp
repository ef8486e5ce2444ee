// The one exception of the project: a fault of the user's input or of the outside world, told so that it can
// be mended. Broken invariants do not come here; they stop in check.hpp.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace verlc {

/// Which exit code the fault becomes when it reaches main.
enum class ErrorKind {
  run = 1,    ///< failed while running: I/O, communication, a rank that died
  input = 2,  ///< the user's recipe, file or option is wrong
  fit = 3,    ///< it would not fit into memory
};

/// What every message says. Leave a part empty when it does not apply.
struct ErrorText {
  std::string what;   ///< the rule that was broken, one sentence without a final stop
  std::string where;  ///< key, file:line or tensor name
  std::string value;  ///< the value found there
  std::string fix;    ///< what to do
};

/// Thrown where the fault is found and caught once, in main (or at the C ABI, which turns it into a status).
class Error : public std::exception {
 public:
  Error(ErrorKind kind, ErrorText text);

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const ErrorText& text() const { return text_; }
  /// "where: what (value: ...); fix: ..." on one line.
  [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }

 private:
  ErrorKind kind_;
  ErrorText text_;
  std::string line_;
};

/// Throws an Error of kind `input`.
[[noreturn]] void fail_input(ErrorText text);
/// Throws an Error of kind `run`.
[[noreturn]] void fail_run(ErrorText text);

/// The candidates nearest to `name` by edit distance, best first; empty when none is near.
std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& candidates,
                                       size_t most = 3);

}  // namespace verlc
