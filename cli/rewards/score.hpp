// What a scorer says about one response: a number, or why there is none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "core/base/check.hpp"

namespace verlc {

/// Why there is no score. What to do then (drop the sample, drop the group, retry, stop) is the recipe's
/// choice.
struct ScoreError {
  enum class Kind {
    label,    ///< the ground truth cannot be read by this scorer
    timeout,  ///< the scorer did not answer in time
    failed,   ///< the scorer reported or suffered a failure
  };
  Kind kind = Kind::failed;
  std::string message{};
};

/// Either a value or an error; an error is never a silent 0. `extras` is a JSON object of further findings
/// ("acc", "pred"), for metrics and rollout dumps.
class Score {
 public:
  static Score of(double value, nlohmann::json extras = nlohmann::json::object()) {
    return {value, std::move(extras)};
  }
  static Score error(ScoreError::Kind kind, std::string message) {
    return {ScoreError{.kind = kind, .message = std::move(message)}, nlohmann::json::object()};
  }

  [[nodiscard]] bool has_value() const { return std::holds_alternative<double>(result_); }
  /// The score; asking an error for it is a bug and stops the process.
  [[nodiscard]] double value() const {
    check(has_value(), "a score is read only where there is one");
    return std::get<double>(result_);
  }
  [[nodiscard]] const ScoreError& error() const {
    check(!has_value(), "a score error is read only where there is one");
    return std::get<ScoreError>(result_);
  }
  [[nodiscard]] const nlohmann::json& extras() const { return extras_; }

 private:
  Score(std::variant<double, ScoreError> result, nlohmann::json extras)
      : result_(std::move(result)), extras_(std::move(extras)) {}

  std::variant<double, ScoreError> result_;
  nlohmann::json extras_;
};

}  // namespace verlc
