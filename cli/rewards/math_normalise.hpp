// The passes of normalise_math, each linear in its text.
#pragma once

#include <string>
#include <string_view>

namespace verlc::math {

/// Drops what carries no value: $, \( \), spacing and size commands, per cent and degree signs, a closing
/// unit in \text{}; unwraps other \text{}-like groups; one name for all fraction commands; {,} becomes a
/// comma.
std::string without_notation(std::string_view text);

/// Joins groups of thousands outside of ( [ \{ brackets: "1,000" becomes "1000", "1,00" stays.
std::string without_thousands(std::string_view text);

/// Drops every blank.
std::string without_blanks(std::string_view text);

/// Puts braces around one-token arguments of \frac, \sqrt, ^ and _.
std::string with_full_arguments(std::string_view text);

/// Drops "x =" in front, stops at the end, and braces around the whole.
std::string bare_answer(std::string_view text);

}  // namespace verlc::math
