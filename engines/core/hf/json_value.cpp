#include "core/hf/json_value.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace verlc::hf {
namespace {

std::string place(const std::string& where, std::string_view key) {
  return fmt::format("{}: {}", where, key);
}

[[noreturn]] void broken(const std::string& where, std::string_view key, const Json& value,
                         std::string rule) {
  fail_input({.what = std::move(rule), .where = place(where, key), .value = shown(value), .fix = {}});
}

// The member, or null when it is absent or JSON's null.
const Json* member(const Json& object, std::string_view key, const std::string& where) {
  if (!object.is_object()) {
    fail_input({.what = "must be a JSON object", .where = where, .value = shown(object), .fix = {}});
  }
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

[[noreturn]] void missing(const std::string& where, std::string_view key) {
  fail_input({.what = "the key is missing", .where = place(where, key), .value = {}, .fix = {}});
}

std::string range(int64_t min, int64_t max) {
  const bool low = min != std::numeric_limits<int64_t>::min();
  const bool high = max != std::numeric_limits<int64_t>::max();
  if (low && high) return fmt::format(" from {} to {}", min, max);
  if (low) return fmt::format(" of at least {}", min);
  if (high) return fmt::format(" of at most {}", max);
  return "";
}

std::string range(double min, double max) {
  const bool low = min != std::numeric_limits<double>::lowest();
  const bool high = max != std::numeric_limits<double>::max();
  if (low && high) return fmt::format(" from {} to {}", min, max);
  if (low) return fmt::format(" of at least {}", min);
  if (high) return fmt::format(" of at most {}", max);
  return "";
}

bool integer_within(const Json& value, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
    return false;
  const int64_t number = value.get<int64_t>();
  return number >= min && number <= max;
}

}  // namespace

int64_t json_int(const Json& object, std::string_view key, const std::string& where,
                 std::optional<int64_t> fallback, int64_t min, int64_t max) {
  const Json* value = member(object, key, where);
  if (value == nullptr) return fallback ? *fallback : (missing(where, key), 0);
  if (!integer_within(*value, min, max)) broken(where, key, *value, "must be an integer" + range(min, max));
  return value->get<int64_t>();
}

double json_number(const Json& object, std::string_view key, const std::string& where,
                   std::optional<double> fallback, double min, double max) {
  const Json* value = member(object, key, where);
  if (value == nullptr) return fallback ? *fallback : (missing(where, key), 0.0);
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max)) {
    broken(where, key, *value, "must be a number" + range(min, max));
  }
  return value->get<double>();
}

bool json_bool(const Json& object, std::string_view key, const std::string& where,
               std::optional<bool> fallback) {
  const Json* value = member(object, key, where);
  if (value == nullptr) return fallback ? *fallback : (missing(where, key), false);
  if (!value->is_boolean()) broken(where, key, *value, "must be true or false");
  return value->get<bool>();
}

std::string json_string(const Json& object, std::string_view key, const std::string& where,
                        std::optional<std::string> fallback) {
  const Json* value = member(object, key, where);
  if (value == nullptr) return fallback ? *fallback : (missing(where, key), std::string());
  if (!value->is_string()) broken(where, key, *value, "must be a string");
  return value->get<std::string>();
}

std::vector<int64_t> json_int_list(const Json& object, std::string_view key, const std::string& where,
                                   int64_t min, int64_t max) {
  const Json* value = member(object, key, where);
  std::vector<int64_t> numbers;
  if (value == nullptr) return numbers;
  const std::string rule = fmt::format("must be an integer{0} or a list of them", range(min, max));
  if (!value->is_array()) {
    if (!integer_within(*value, min, max)) broken(where, key, *value, rule);
    return {value->get<int64_t>()};
  }
  for (const Json& element : *value) {
    if (!integer_within(element, min, max)) broken(where, key, *value, rule);
    numbers.push_back(element.get<int64_t>());
  }
  return numbers;
}

std::vector<double> json_number_list(const Json& object, std::string_view key, const std::string& where) {
  const Json* value = member(object, key, where);
  std::vector<double> numbers;
  if (value == nullptr) return numbers;
  if (!value->is_array()) broken(where, key, *value, "must be a list of numbers");
  for (const Json& element : *value) {
    if (!element.is_number()) broken(where, key, *value, "must be a list of numbers");
    numbers.push_back(element.get<double>());
  }
  return numbers;
}

const Json* json_object(const Json& object, std::string_view key, const std::string& where) {
  const Json* value = member(object, key, where);
  if (value != nullptr && !value->is_object()) broken(where, key, *value, "must be an object");
  return value;
}

std::string shown(const Json& value) {
  constexpr size_t kMost = 120;
  // A long list is not printed whole only to be cut.
  if (value.is_structured() && value.size() > kMost) {
    return value.is_array() ? fmt::format("a list of {}", value.size())
                            : fmt::format("an object of {}", value.size());
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string quote_text(std::string_view text) {
  constexpr size_t kMost = 200;
  const std::string cut(text.substr(0, kMost));
  return Json(cut).dump(-1, ' ', false, Json::error_handler_t::ignore) + (text.size() > kMost ? "..." : "");
}

}  // namespace verlc::hf
