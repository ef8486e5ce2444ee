// Answers in LaTeX: where the answer of a response stands, and when two answers are the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace verlc {

/// Content of the last balanced \boxed{...} or \fbox{...} (by where it opens), trimmed; escaped braces do not
/// count. None without one, and for an empty one.
std::optional<std::string> last_box(std::string_view text);

/// What follows the last "Answer:" (any case, blanks before the colon) on its line; the content of a box
/// there, if any. None without one, and for an empty one.
std::optional<std::string> last_answer_line(std::string_view text);

/// One spelling for answers that differ only in notation: blanks, $ and \( \), sizes (\left, \dfrac), units
/// in a closing \text{}, degrees and per cent signs, thousands separators outside brackets, short arguments
/// (\frac12, x^2), "x =" in front, closing stops. Linear in the text.
std::string normalise_math(std::string_view text);

/// Braces pair up, escaped ones aside.
bool braces_balance(std::string_view text);

/// Both answers are equal after normalise_math, or are numbers (decimals, fractions) of exactly equal value.
bool equal_math(std::string_view a, std::string_view b);

}  // namespace verlc
