// JSON files read without trust, and typed members of their objects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verlc::hf {

using Json = nlohmann::json;

/// Parses JSON text. Error(input) "where:line:column" when it is malformed, nested over 200 levels or names a
/// key twice in one object.
Json parse_json_text(std::string_view text, const std::string& where);
/// parse_json_text of a file. Error(input) when it cannot be read or is larger than `max_bytes`.
Json read_json_file(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{64} << 20);
/// read_json_file whose top level must be an object.
Json read_json_object(const std::filesystem::path& path);

// The member `key` of `object`, which `where` names in messages ("<path>", or "<path>: rope_scaling"). An
// absent or null member is `fallback`; without a fallback it is an Error(input). A member of another kind or
// outside [min, max] is an Error(input) with file, key, value and rule.
int64_t json_int(const Json& object, std::string_view key, const std::string& where,
                 std::optional<int64_t> fallback = std::nullopt,
                 int64_t min = std::numeric_limits<int64_t>::min(),
                 int64_t max = std::numeric_limits<int64_t>::max());
/// Integers and reals; always finite.
double json_number(const Json& object, std::string_view key, const std::string& where,
                   std::optional<double> fallback = std::nullopt,
                   double min = std::numeric_limits<double>::lowest(),
                   double max = std::numeric_limits<double>::max());
bool json_bool(const Json& object, std::string_view key, const std::string& where,
               std::optional<bool> fallback = std::nullopt);
std::string json_string(const Json& object, std::string_view key, const std::string& where,
                        std::optional<std::string> fallback = std::nullopt);
/// A list of integers, or one integer alone. Absent or null: empty.
std::vector<int64_t> json_int_list(const Json& object, std::string_view key, const std::string& where,
                                   int64_t min = std::numeric_limits<int64_t>::min(),
                                   int64_t max = std::numeric_limits<int64_t>::max());
/// A list of reals. Absent or null: empty.
std::vector<double> json_number_list(const Json& object, std::string_view key, const std::string& where);
/// The member that must be an object; null when it is absent or null.
const Json* json_object(const Json& object, std::string_view key, const std::string& where);

/// The value as JSON on one line, at most about 120 bytes of it, for messages.
std::string shown(const Json& value);
/// The text in double quotes with control characters escaped, cut at about 200 bytes, for messages.
std::string quote_text(std::string_view text);

}  // namespace verlc::hf
