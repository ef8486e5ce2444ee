#include "core/text/json_field.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 120) text = to_valid_utf8(text.substr(0, 120)) + "...";
  return text;
}

}  // namespace

JsonField JsonField::at(std::string_view key) const {
  if (!value->is_object()) broken("must be an object");
  const auto found = value->find(key);
  if (found == value->end()) {
    fail_input(
        {.what = fmt::format("the key \"{}\" is missing", key), .where = where, .value = {}, .fix = {}});
  }
  return {&*found, fmt::format("{}.{}", where, key)};
}

JsonField JsonField::at(size_t index) const {
  return {&(*value)[index], fmt::format("{}[{}]", where, index)};
}

bool JsonField::has(std::string_view key) const {
  if (!value->is_object()) return false;
  const auto found = value->find(key);
  return found != value->end() && !found->is_null();
}

size_t JsonField::size() const {
  if (!value->is_array()) broken("must be an array");
  return value->size();
}

std::string JsonField::string() const {
  if (!value->is_string()) broken("must be a string");
  return value->get<std::string>();
}

bool JsonField::boolean() const {
  if (!value->is_boolean()) broken("must be true or false");
  return value->get<bool>();
}

int64_t JsonField::integer(int64_t low, int64_t high) const {
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX});
  if (!fits || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    broken(fmt::format("must be an integer from {} to {}", low, high));
  }
  return value->get<int64_t>();
}

std::string JsonField::string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? at(key).string() : std::string(fallback);
}

bool JsonField::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? at(key).boolean() : fallback;
}

int64_t JsonField::integer_or(std::string_view key, int64_t fallback, int64_t low, int64_t high) const {
  return has(key) ? at(key).integer(low, high) : fallback;
}

void JsonField::unsupported(std::string_view part, std::string_view supported) const {
  fail_input({.what = fmt::format("{} type is not supported", part),
              .where = where,
              .value = string_or("type", "(none)"),
              .fix = fmt::format("supported: {}", supported)});
}

void JsonField::broken(std::string_view rule, std::string_view fix) const {
  fail_input({.what = std::string(rule), .where = where, .value = shown(*value), .fix = std::string(fix)});
}

Json parse_json(std::string_view text, const std::string& where) {
  constexpr int kMostDepth = 200;
  bool too_deep = false;
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMostDepth;
    return !too_deep;
  };
  Json parsed;
  try {
    parsed = Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    fail_input({.what = "malformed JSON", .where = where, .value = error.what(), .fix = {}});
  }
  if (too_deep) {
    fail_input({.what = "JSON nested over 200 levels", .where = where, .value = {}, .fix = {}});
  }
  return parsed;
}

}  // namespace verlc::text
