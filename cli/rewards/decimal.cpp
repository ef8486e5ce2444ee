#include "rewards/decimal.hpp"

#include <algorithm>

namespace verlc {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

using Wide = unsigned __int128;
constexpr size_t kMostDigits = 18;  // two such numbers multiply within 36 digits, below 2^127

// The digits of `value` times 10^scale as a whole number; none when it is too long.
std::optional<Wide> scaled(const Decimal& value, size_t scale) {
  if (value.whole.size() + scale > kMostDigits) return std::nullopt;
  Wide number = 0;
  for (const char c : value.whole) number = number * 10 + static_cast<Wide>(c - '0');
  for (size_t i = 0; i < scale; ++i)
    number = number * 10 + static_cast<Wide>(i < value.fraction.size() ? value.fraction[i] - '0' : 0);
  return number;
}

bool is_zero(const Decimal& value) {
  return value.whole.empty() && value.fraction.empty();
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::string> join_thousands(std::string_view digits) {
  std::string joined;
  size_t width = 0;
  bool grouped = false;
  for (const char c : digits) {
    if (is_digit(c)) {
      joined += c;
      ++width;
      continue;
    }
    if (c != ',' || width == 0 || width > 3 || (grouped && width != 3)) return std::nullopt;
    grouped = true;
    width = 0;
  }
  if (width == 0 || (grouped && width != 3)) return std::nullopt;
  return joined;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  text = trim_blanks(text);
  Decimal value;
  bool sign = false, dollar = false;
  while (!text.empty() && !is_digit(text.front()) && text.front() != '.') {
    const char c = text.front();
    if ((c == '-' || c == '+') && !sign) {
      sign = true;
      value.negative = c == '-';
    } else if (c == '$' && !dollar) {
      dollar = true;
    } else if (c != '\\' || text.substr(0, 2) != "\\$") {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::nullopt;
  if (!whole.empty()) {
    const std::optional<std::string> joined = join_thousands(whole);
    if (!joined) return std::nullopt;
    value.whole = joined->substr(std::min(joined->find_first_not_of('0'), joined->size()));
  }
  value.fraction = fraction;
  value.fraction.erase(value.fraction.find_last_not_of('0') + 1);
  if (is_zero(value)) value.negative = false;
  return value;
}

bool equal_ratios(const Ratio& a, const Ratio& b) {
  if (is_zero(a.denominator) || is_zero(b.denominator)) return false;
  if (a.numerator == b.numerator && a.denominator == b.denominator) return true;
  const bool negative_a = a.numerator.negative != a.denominator.negative && !is_zero(a.numerator);
  const bool negative_b = b.numerator.negative != b.denominator.negative && !is_zero(b.numerator);
  if (negative_a != negative_b) return false;
  // a.n / a.d = b.n / b.d in whole numbers: each fraction is widened by one common power of ten.
  const size_t scale_a = std::max(a.numerator.fraction.size(), a.denominator.fraction.size());
  const size_t scale_b = std::max(b.numerator.fraction.size(), b.denominator.fraction.size());
  const std::optional<Wide> an = scaled(a.numerator, scale_a), ad = scaled(a.denominator, scale_a);
  const std::optional<Wide> bn = scaled(b.numerator, scale_b), bd = scaled(b.denominator, scale_b);
  return an && ad && bn && bd && *an * *bd == *bn * *ad;
}

}  // namespace verlc
