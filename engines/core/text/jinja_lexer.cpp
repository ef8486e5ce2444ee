#include "core/text/jinja_lexer.hpp"

#include <algorithm>

#include "core/text/jinja_value.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

constexpr size_t kMostSource = size_t{4} << 20;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// One newline for every kind, and none at the very end, as Jinja reads sources.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!is_python_space(decode_at(text, at).value)) break;
    text = text.substr(0, at);
  }
  return text;
}

class Lexer {
 public:
  Lexer(std::string source, std::string_view name) : source_(std::move(source)), name_(name) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_data();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& value = {}) const {
    Site{name_, line_}.fail("template syntax: " + what, value);
  }
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  [[nodiscard]] bool looking_at(std::string_view text) const {
    return std::string_view(source_).substr(at_).starts_with(text);
  }
  void advance(size_t count) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }
  void skip_space() {
    while (at_ < source_.size()) {
      const CodePoint point = decode_at(source_, at_);
      if (!is_python_space(point.value)) break;
      advance(point.size);
    }
  }

  /// The text up to the next tag, trimmed as the tag's sign and lstrip_blocks ask; then the tag.
  void lex_data() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        tag = std::string::npos;
        break;
      }
      const char next = source_[tag + 1];
      if (next == '%' || next == '{' || next == '#') break;
    }
    const bool last = tag == std::string::npos;
    std::string_view text = std::string_view(source_).substr(at_, last ? std::string::npos : tag - at_);
    const size_t whole = text.size();
    if (!last)
      text = trim_before_tag(text, source_[tag + 1], tag + 2 < source_.size() ? source_[tag + 2] : 0);
    if (!text.empty()) push(TokenKind::data, std::string(text));
    advance(whole);
    if (!last) lex_tag();
  }

  [[nodiscard]] std::string_view trim_before_tag(std::string_view text, char kind, char sign) const {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || kind == '{') return text;
    const size_t newline = text.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const bool starts_line = start > 0 || at_ == 0 || source_[at_ - 1] == '\n';
    return starts_line && strip_right(text.substr(start)).empty() ? text.substr(0, start) : text;
  }

  void lex_tag() {
    const char kind = source_[at_ + 1];
    advance(2);
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) {
      // "{{+" is not a sign: the plus belongs to the expression.
      if (source_[at_] == '-' || kind != '{') advance(1);
    }
    if (kind == '#') {
      lex_comment();
    } else if (kind == '%') {
      if (lex_raw()) return;
      push(TokenKind::block_begin, "{%");
      lex_code("%}", TokenKind::block_end);
    } else {
      push(TokenKind::output_begin, "{{");
      lex_code("}}", TokenKind::output_end);
    }
  }

  /// After a block or comment: "-" eats all white space, otherwise trim_blocks eats one newline unless "+"
  /// stands.
  void finish_tag(char sign, bool trims) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && trims && at_ < source_.size() && source_[at_] == '\n') {
      advance(1);
    }
  }

  void lex_comment() {
    const size_t close = source_.find("#}", at_);
    if (close == std::string::npos) fail("a comment is not closed");
    const char sign = close > at_ ? source_[close - 1] : ' ';
    advance(close + 2 - at_);
    finish_tag(sign, true);
  }

  /// {% raw %} ... {% endraw %}: everything between is text.
  bool lex_raw() {
    size_t i = at_;
    const auto blanks = [&] {
      while (i < source_.size() && (source_[i] == ' ' || source_[i] == '\t' || source_[i] == '\n')) ++i;
    };
    const auto close_tag = [&](char& sign) {
      blanks();
      sign = ' ';
      if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) sign = source_[i++];
      if (source_.compare(i, 2, "%}") != 0) return false;
      i += 2;
      return true;
    };
    blanks();
    char sign = ' ';
    if (source_.compare(i, 3, "raw") != 0) return false;
    i += 3;
    if (!close_tag(sign)) return false;
    advance(i - at_);
    finish_tag(sign, true);
    const size_t begin = at_;
    for (size_t tag = source_.find("{%", begin); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      i = tag + 2;
      char open = ' ';
      if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) open = source_[i++];
      blanks();
      if (source_.compare(i, 6, "endraw") != 0) continue;
      i += 6;
      if (!close_tag(sign)) continue;
      const std::string_view text =
          trim_before_tag(std::string_view(source_).substr(begin, tag - begin), '%', open);
      if (!text.empty()) push(TokenKind::data, std::string(text));
      advance(i - at_);
      finish_tag(sign, true);
      return true;
    }
    fail("a raw block is not closed");
  }

  void lex_code(std::string_view close, TokenKind end_kind) {
    std::vector<char> brackets;
    while (true) {
      skip_space();
      if (at_ >= source_.size()) fail("a tag is not closed");
      if (brackets.empty() && lex_close(close, end_kind)) return;
      const char c = source_[at_];
      if (is_name_start(c)) {
        lex_name();
      } else if (is_digit(c)) {
        lex_number();
      } else if (c == '\'' || c == '"') {
        lex_string(c);
      } else {
        lex_operator(brackets);
      }
    }
  }

  bool lex_close(std::string_view close, TokenKind end_kind) {
    char sign = ' ';
    size_t skip = 0;
    if (source_[at_] == '-' || (source_[at_] == '+' && end_kind == TokenKind::block_end)) {
      sign = source_[at_];
      skip = 1;
    }
    if (source_.compare(at_ + skip, 2, close) != 0) return false;
    push(end_kind, std::string(close));
    advance(skip + 2);
    finish_tag(sign, end_kind == TokenKind::block_end);
    return true;
  }

  void lex_name() {
    size_t end = at_;
    while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
    push(TokenKind::name, source_.substr(at_, end - at_));
    advance(end - at_);
  }

  void lex_number() {
    size_t end = at_;
    std::string digits;
    bool floating = false;
    const auto take_digits = [&] {
      for (; end < source_.size() && (is_digit(source_[end]) || source_[end] == '_'); ++end) {
        if (source_[end] != '_') digits += source_[end];
      }
    };
    take_digits();
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      floating = true;
      digits += source_[end++];
      take_digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const size_t sign =
          end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? 1 : 0;
      if (end + 1 + sign < source_.size() && is_digit(source_[end + 1 + sign])) {
        floating = true;
        digits += source_.substr(end, 1 + sign);
        end += 1 + sign;
        take_digits();
      }
    }
    push(floating ? TokenKind::floating : TokenKind::integer, digits);
    advance(end - at_);
  }

  void lex_string(char quote) {
    std::string out;
    size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        out += source_[i];
        continue;
      }
      i = lex_escape(i + 1, out);
    }
    if (i >= source_.size()) fail("a string is not closed");
    push(TokenKind::string, std::move(out));
    advance(i + 1 - at_);
  }

  /// Appends what the escape at `i` (after the backslash) means; gives the index of its last byte.
  size_t lex_escape(size_t i, std::string& out) {
    static constexpr std::string_view kFrom = "abfnrtv\\'\"";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[i];
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      out += kTo[known];
      return i;
    }
    if (c == '\n') return i;
    const size_t num_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (num_digits > 0) {
      uint32_t value = 0;
      for (size_t k = 1; k <= num_digits; ++k) {
        const char digit = i + k < source_.size() ? source_[i + k] : ' ';
        const std::string_view hex = "0123456789abcdef0123456789ABCDEF";
        const size_t place = hex.find(digit);
        if (place == std::string_view::npos) fail("a string has a broken escape");
        value = value * 16 + static_cast<uint32_t>(place % 16);
      }
      append_utf8(out, value);
      return i + num_digits;
    }
    if (c >= '0' && c <= '7') {
      uint32_t value = 0;
      size_t k = 0;
      for (; k < 3 && i + k < source_.size() && source_[i + k] >= '0' && source_[i + k] <= '7'; ++k) {
        value = value * 8 + static_cast<uint32_t>(source_[i + k] - '0');
      }
      append_utf8(out, value);
      return i + k - 1;
    }
    out += '\\';
    out += c;
    return i;
  }

  void lex_operator(std::vector<char>& brackets) {
    static constexpr std::string_view kLong[] = {"==", "!=", ">=", "<=", "//", "**"};
    static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    for (const std::string_view op : kLong) {
      if (looking_at(op)) {
        push(TokenKind::op, std::string(op));
        advance(2);
        return;
      }
    }
    const char c = source_[at_];
    if (kShort.find(c) == std::string_view::npos) fail("unexpected character", std::string(1, c));
    if (c == '(' || c == '[' || c == '{') brackets.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty() || brackets.back() != c) fail("unbalanced bracket", std::string(1, c));
      brackets.pop_back();
    }
    push(TokenKind::op, std::string(1, c));
    advance(1);
  }

  std::string source_;
  std::string_view name_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, std::string_view name) {
  if (source.size() > kMostSource) Site{name, 1}.fail("a template may have 4 MiB at most");
  return Lexer(normalize_newlines(to_valid_utf8(source)), name).run();
}

}  // namespace verlc::text::jinja
