// The pattern of a Split or Replace part: a literal string or a regular expression.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json_field.hpp"
#include "core/text/regex.hpp"

namespace verlc::text {

/// Immutable; safe to use from many threads.
class Pattern {
 public:
  /// Reads {"String": s}, {"Regex": s} or a bare string (a literal).
  explicit Pattern(const JsonField& field);

  /// Every match from left to right; an empty literal matches nowhere.
  [[nodiscard]] std::vector<Range> find_all(std::string_view text) const;
  [[nodiscard]] std::string replace_all(std::string_view text, std::string_view with) const;
  /// True when a match can never reach over the border of two code points.
  [[nodiscard]] bool is_one_code_point() const;

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

}  // namespace verlc::text
