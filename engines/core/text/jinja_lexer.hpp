// A template's source as tokens, with Jinja's white-space control (trim_blocks and lstrip_blocks on).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verlc::text::jinja {

enum class TokenKind {
  data,          ///< text to print
  block_begin,   ///< {%
  block_end,     ///< %}
  output_begin,  ///< {{
  output_end,    ///< }}
  name,
  string,  ///< a literal, escapes resolved
  integer,
  floating,
  op,  ///< an operator or bracket
  end,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line = 1;
};

/// Error(input) with the line for text that is no template. `name` stands in messages.
std::vector<Token> tokenize(std::string_view source, std::string_view name);

}  // namespace verlc::text::jinja
