#include "rewards/math_text.hpp"

#include <array>
#include <cctype>
#include <vector>

#include "rewards/decimal.hpp"
#include "rewards/math_normalise.hpp"

namespace verlc {
namespace {

// Strips one sign in front and says whether it was a minus.
bool take_minus(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  const bool minus = text.front() == '-';
  text.remove_prefix(1);
  return minus;
}

std::optional<Ratio> ratio_of(std::string_view top, std::string_view bottom, bool minus) {
  std::optional<Decimal> numerator = parse_decimal(top);
  const std::optional<Decimal> denominator = parse_decimal(bottom);
  if (!numerator || !denominator) return std::nullopt;
  if (minus) numerator->negative = !numerator->negative;
  if (*numerator == Decimal{.negative = true}) numerator->negative = false;
  return Ratio{.numerator = *numerator, .denominator = *denominator};
}

// A normalised answer as a number: a decimal, a/b, or \frac{a}{b} with an optional sign.
// Thousands are joined by then, so a comma that is left separates two answers.
std::optional<Ratio> parse_ratio(std::string_view text) {
  if (text.find(',') != std::string_view::npos) return std::nullopt;
  if (parse_decimal(text)) return ratio_of(text, "1", false);
  const bool minus = take_minus(text);
  constexpr std::string_view kFrac = "\\frac{";
  if (text.starts_with(kFrac) && text.ends_with("}")) {
    text.remove_prefix(kFrac.size());
    text.remove_suffix(1);
    const size_t middle = text.find("}{");
    if (middle == std::string_view::npos) return std::nullopt;
    return ratio_of(text.substr(0, middle), text.substr(middle + 2), minus);
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return ratio_of(text.substr(0, slash), text.substr(slash + 1), minus);
}

}  // namespace

std::optional<std::string> last_box(std::string_view text) {
  constexpr std::array<std::string_view, 2> kNames = {"\\boxed", "\\fbox"};
  constexpr size_t kNotABox = std::string_view::npos;
  std::vector<size_t> open;  // content start of each open brace that belongs to a box
  size_t best_begin = 0, best_end = 0;
  bool next_is_box = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      next_is_box = false;
      size_t skip = 1;
      for (const std::string_view name : kNames) {
        if (!text.substr(i).starts_with(name)) continue;
        next_is_box = true;
        skip = name.size() - 1;
      }
      i += skip;
    } else if (c == '{') {
      open.push_back(next_is_box ? i + 1 : kNotABox);
      next_is_box = false;
    } else if (c == '}') {
      if (!open.empty()) {
        if (open.back() != kNotABox && open.back() > best_begin) {
          best_begin = open.back();
          best_end = i;
        }
        open.pop_back();
      }
      next_is_box = false;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      next_is_box = false;
    }
  }
  const std::string_view content = trim_blanks(text.substr(best_begin, best_end - best_begin));
  if (content.empty()) return std::nullopt;
  return std::string(content);
}

std::optional<std::string> last_answer_line(std::string_view text) {
  constexpr std::string_view kWord = "answer";
  std::optional<size_t> begin;
  size_t matched = 0;  // letters of the word seen so far
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    if (matched == kWord.size()) {
      if (c == ' ' || c == '\t') continue;
      if (c == ':') begin = i + 1;
      matched = 0;
    }
    matched = matched < kWord.size() && c == kWord[matched] ? matched + 1 : (c == kWord[0] ? 1 : 0);
  }
  if (!begin) return std::nullopt;
  std::string_view line = text.substr(*begin);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) line.remove_prefix(1);
  line = trim_blanks(line.substr(0, line.find('\n')));
  while (!line.empty() && (line.front() == '*' || line.back() == '*')) {
    if (line.front() == '*')
      line.remove_prefix(1);
    else
      line.remove_suffix(1);
  }
  if (std::optional<std::string> box = last_box(line)) return box;
  line = trim_blanks(line);
  if (line.empty()) return std::nullopt;
  return std::string(line);
}

bool braces_balance(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      if (depth == 0) return false;
      --depth;
    }
  }
  return depth == 0;
}

std::string normalise_math(std::string_view text) {
  std::string out = math::without_notation(text);
  out = math::without_thousands(out);
  out = math::without_blanks(out);
  out = math::with_full_arguments(out);
  return math::bare_answer(out);
}

bool equal_math(std::string_view a, std::string_view b) {
  const std::string left = normalise_math(a), right = normalise_math(b);
  if (left.empty() || right.empty()) return false;
  if (left == right) return true;
  const std::optional<Ratio> x = parse_ratio(left), y = parse_ratio(right);
  return x && y && equal_ratios(*x, *y);
}

}  // namespace verlc
