// One line of a JSONL file: parsed without trust, and its members as they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace verlc {

/// JSON that keeps the order of members, as chat templates see it.
using OrderedJson = nlohmann::ordered_json;

/// Deepest nesting that a line may have.
inline constexpr size_t kMaxJsonDepth = 100;

/// A parsed line, or what is wrong with it ("is not valid JSON at column 7: ...") when `problem` is not
/// empty.
struct ParsedLine {
  OrderedJson value{};
  std::string problem{};
};

/// Parses one line; strings must be UTF-8, nesting at most kMaxJsonDepth. Of a key that stands twice in an
/// object the last value counts. Never throws for bad input.
ParsedLine parse_json_line(std::string_view line);

/// The text of member `key` of the JSON object `object`, exactly as written there: numbers keep their digits
/// and objects their order. The last one of equal keys. None when it is absent. `object` must be valid JSON.
std::optional<std::string_view> member_text(std::string_view object, std::string_view key);

}  // namespace verlc
