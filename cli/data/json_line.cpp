#include "data/json_line.hpp"

namespace verlc {
namespace {

// Listens to a parse only for its error.
class ErrorListener final : public nlohmann::json_sax<OrderedJson> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return true; }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*size*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string text = error.what();
    // Behind the library's own prefix; the last token is cut, since it may hold any bytes.
    const size_t prefix = text.find(": ");
    if (prefix != std::string::npos) text = text.substr(prefix + 2);
    text = text.substr(0, text.find("; last read"));
    problem = "is not valid JSON at column " + std::to_string(position) + ": " + text;
    return false;
  }

  std::string problem;
};

// Position behind the string whose opening quote stands at `at`.
size_t skip_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

bool too_deep(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      i = skip_string(text, i);
      continue;
    }
    if ((c == '{' || c == '[') && ++depth > kMaxJsonDepth) return true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    ++i;
  }
  return false;
}

size_t skip_blanks(std::string_view text, size_t at) {
  const size_t next = text.find_first_not_of(" \t\r\n", at);
  return next == std::string_view::npos ? text.size() : next;
}

// Position behind the value that starts at `at`, in valid JSON.
size_t skip_value(std::string_view text, size_t at) {
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '{' && text[at] != '[') return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  return at;
}

}  // namespace

ParsedLine parse_json_line(std::string_view line) {
  ParsedLine parsed;
  if (too_deep(line)) {
    parsed.problem = "is nested over " + std::to_string(kMaxJsonDepth) + " levels";
    return parsed;
  }
  parsed.value = OrderedJson::parse(line, nullptr, false);
  if (!parsed.value.is_discarded()) return parsed;
  ErrorListener listener;
  OrderedJson::sax_parse(line, &listener);
  parsed.value = nullptr;
  parsed.problem = listener.problem.empty() ? "is not valid JSON" : listener.problem;
  return parsed;
}

std::optional<std::string_view> member_text(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  size_t at = skip_blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return found;
  at = skip_blanks(object, at + 1);
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = skip_string(object, at);
    const std::string_view quoted = object.substr(at, key_end - at);
    const bool plain = quoted.find('\\') == std::string_view::npos;
    const bool same = plain ? quoted.substr(1, quoted.size() - 2) == key
                            : OrderedJson::parse(quoted, nullptr, false) == OrderedJson(std::string(key));
    at = skip_blanks(object, skip_blanks(object, key_end) + 1);
    if (at >= object.size()) break;
    const size_t value_end = skip_value(object, at);
    if (same) found = object.substr(at, value_end - at);
    at = skip_blanks(object, value_end);
    if (at >= object.size() || object[at] != ',') break;
    at = skip_blanks(object, at + 1);
  }
  return found;
}

}  // namespace verlc
