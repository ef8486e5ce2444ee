// Numbers as people write them, compared exactly: no floating point, so 0.1 + rounding never decides a
// reward.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace verlc {

/// An exact decimal in one canonical form: no leading zeros before the point, no trailing zeros behind it, no
/// negative zero. Equal values compare equal, whatever their number of digits.
struct Decimal {
  bool negative = false;
  std::string whole{};     ///< "" for 0
  std::string fraction{};  ///< "" when whole
  bool operator==(const Decimal&) const = default;
};

/// Digits of "1,000" or "12" without the commas: groups behind the first are exactly 3 wide, the first 1
/// to 3. None for any other grouping ("1,00" is not 100).
std::optional<std::string> join_thousands(std::string_view digits);

/// Reads [+-][$]digits with thousands separators, an optional fraction and an optional trailing point; blanks
/// around it are ignored. None for anything else.
std::optional<Decimal> parse_decimal(std::string_view text);

/// a / b of two decimals is equal to c / d. False when a product is too long to compute (over 36 digits) and
/// the texts differ, or when b or d is 0.
struct Ratio {
  Decimal numerator{};
  Decimal denominator{};
};
bool equal_ratios(const Ratio& a, const Ratio& b);

/// Without ASCII blanks at both ends.
std::string_view trim_blanks(std::string_view text);

}  // namespace verlc
