#include "recipe/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "recipe/index.hpp"

namespace verlc {
namespace {

constexpr int max_table_depth = 16;

std::string article(const FieldRef& target) {
  const std::string type = type_name(target);
  return (type == "bytes" ? "" : type.starts_with("i") ? "an " : "a ") + type;
}

std::string example(const FieldSpec& spec, const FieldRef& target) {
  const std::string range = range_text(spec);
  if (!spec.choices.empty()) return "one of " + choices_text(spec);
  return "write " + article(target) + (range.empty() ? "" : " in " + range);
}

ValueFault wrong_type(const FieldSpec& spec, const FieldRef& target) {
  return {"must be " + article(target), example(spec, target)};
}

ValueFault check_number(double value, const FieldSpec& spec) {
  if (!std::isfinite(value)) return {"must be a finite number", "write a number in " + range_text(spec)};
  if (!in_range(value, spec)) return {"must be in " + range_text(spec), "choose a value in that range"};
  return {};
}

ValueFault check_choice(const std::string& value, const FieldSpec& spec) {
  if (spec.choices.empty()) return {};
  const std::vector<std::string> choices(spec.choices.begin(), spec.choices.end());
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
  const std::vector<std::string> near = nearest_names(value, choices, 1);
  std::string rule = (choices.size() == 1 ? "must be " : "must be one of ") + choices_text(spec);
  if (!spec.choice_reason.empty()) rule += ": " + std::string(spec.choice_reason);
  return {rule, near.empty() ? "choose " + choices_text(spec) : "did you mean \"" + near.front() + "\"?"};
}

ValueFault check_text(const std::string& value, const FieldSpec& spec) {
  if (value.find('\0') != std::string::npos) return {"must not hold a zero byte", "remove it"};
  if (spec.required && value.empty()) return {"must not be empty", "give a value"};
  return check_choice(value, spec);
}

std::optional<int64_t> parse_bytes(const std::string& text) {
  static constexpr std::pair<std::string_view, int64_t> units[] = {{"KiB", int64_t{1} << 10},
                                                                   {"MiB", int64_t{1} << 20},
                                                                   {"GiB", int64_t{1} << 30},
                                                                   {"TiB", int64_t{1} << 40},
                                                                   {"kB", 1000},
                                                                   {"MB", 1000000},
                                                                   {"GB", 1000000000},
                                                                   {"TB", 1000000000000},
                                                                   {"B", 1},
                                                                   {"", 1}};
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (value > std::numeric_limits<int64_t>::max() / 10 - 1) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  if (i == 0) return std::nullopt;
  while (i < text.size() && text[i] == ' ') ++i;
  for (const auto& [unit, factor] : units)
    if (text.substr(i) == unit)
      return value > std::numeric_limits<int64_t>::max() / factor ? std::nullopt
                                                                  : std::optional(value * factor);
  return std::nullopt;
}

// Gives what can't be JSON as a rule, else an empty text.
std::string to_json(const toml::node& node, int depth, nlohmann::json& out) {
  if (depth > max_table_depth) return fmt::format("tables must not nest deeper than {}", max_table_depth);
  if (const toml::table* table = node.as_table()) {
    out = nlohmann::json::object();
    for (const auto& [key, value] : *table) {
      std::string rule = to_json(value, depth + 1, out[std::string(key.str())]);
      if (!rule.empty()) return rule;
    }
    return {};
  }
  if (const toml::array* array = node.as_array()) {
    out = nlohmann::json::array();
    for (const toml::node& value : *array) {
      out.emplace_back();
      std::string rule = to_json(value, depth + 1, out.back());
      if (!rule.empty()) return rule;
    }
    return {};
  }
  if (const auto text = node.value_exact<std::string>()) return out = *text, std::string();
  if (const auto flag = node.value_exact<bool>()) return out = *flag, std::string();
  if (const auto integer = node.value_exact<int64_t>()) return out = *integer, std::string();
  if (const auto number = node.value_exact<double>(); number && std::isfinite(*number))
    return out = *number, std::string();
  return "dates, times and non-finite numbers are not allowed here";
}

struct Converter {
  const toml::node& node;
  const FieldSpec& spec;

  ValueFault operator()(bool* target) const {
    const auto value = node.value_exact<bool>();
    if (!value) return wrong_type(spec, target);
    *target = *value;
    return {};
  }

  ValueFault operator()(int64_t* target) const {
    const auto value = node.value_exact<int64_t>();
    if (!value) return wrong_type(spec, target);
    ValueFault fault = check_number(static_cast<double>(*value), spec);
    if (fault.rule.empty()) fault = check_choice(std::to_string(*value), spec);
    if (fault.rule.empty() && spec.multiple_of > 0 && *value % spec.multiple_of != 0) {
      const int64_t below = *value / spec.multiple_of * spec.multiple_of;
      fault = {fmt::format("must be a multiple of {}", spec.multiple_of),
               below >= spec.min.value_or(1) ? fmt::format("{} or {}", below, below + spec.multiple_of)
                                             : fmt::format("{}", below + spec.multiple_of)};
    }
    if (fault.rule.empty()) *target = *value;
    return fault;
  }

  ValueFault operator()(double* target) const {
    if (!node.is_number()) return wrong_type(spec, target);
    const double value = node.value<double>().value_or(std::nan(""));
    const ValueFault fault = check_number(value, spec);
    if (fault.rule.empty()) *target = value == 0 ? 0.0 : value;  // -0.0 would dump apart from 0.0
    return fault;
  }

  ValueFault operator()(std::string* target) const {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong_type(spec, target);
    const ValueFault fault = check_text(*value, spec);
    if (fault.rule.empty()) *target = *value;
    return fault;
  }

  ValueFault operator()(ByteSize* target) const {
    std::optional<int64_t> value = node.value_exact<int64_t>();
    if (const auto text = node.value_exact<std::string>()) value = parse_bytes(*text);
    if (!value)
      return {"must be a number of bytes", "write an integer, or text such as \"512MiB\" or \"2GB\""};
    const ValueFault fault = check_number(static_cast<double>(*value), spec);
    if (fault.rule.empty()) target->bytes = *value;
    return fault;
  }

  ValueFault operator()(FreeTable* target) const {
    if (!node.is_table()) return wrong_type(spec, target);
    nlohmann::json json;
    const std::string rule = to_json(node, 0, json);
    if (!rule.empty()) return {rule, "use strings, numbers and booleans"};
    if (spec.scalars_only)
      for (const auto& [key, value] : json.items())
        if (value.is_structured()) return {"values must be scalars, and '" + key + "' is none", "flatten it"};
    target->json.merge_patch(json);
    return {};
  }

  ValueFault operator()(std::vector<std::string>* target) const {
    std::vector<std::string> list;
    if (const auto single = node.value_exact<std::string>()) {
      if (!single->empty()) list.push_back(*single);
    } else if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) {
        const auto text = item.value_exact<std::string>();
        if (!text) return wrong_type(spec, target);
        if (text->empty()) return {"must not hold an empty string", "remove it"};
        list.push_back(*text);
      }
    } else {
      return wrong_type(spec, target);
    }
    if (spec.required && list.empty()) return {"must name at least one", "give a value"};
    for (const std::string& text : list)
      if (ValueFault fault = check_text(text, spec); !fault.rule.empty()) return fault;
    *target = std::move(list);
    return {};
  }

  ValueFault operator()(std::vector<double>* target) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return wrong_type(spec, target);
    std::vector<double> list;
    for (const toml::node& item : *array) {
      double value = 0;
      if (ValueFault fault = Converter{item, spec}(&value); !fault.rule.empty()) return fault;
      list.push_back(value);
    }
    if (spec.length > 0 && list.size() != spec.length)
      return {fmt::format("must have {} values", spec.length), "write " + toml_text(target)};
    *target = std::move(list);
    return {};
  }

  template <class T>
  ValueFault operator()(std::optional<T>* target) const {
    T value{};
    ValueFault fault = (*this)(&value);
    if (fault.rule.empty()) *target = value;
    return fault;
  }
};

}  // namespace

ValueFault convert_value(const toml::node& node, const FieldSpec& spec, FieldRef target) {
  return std::visit(Converter{node, spec}, target);
}

std::string describe_value(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>())
    return toml_string(text->size() > 80 ? text->substr(0, 77) + "..." : *text);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto integer = node.value_exact<int64_t>()) return std::to_string(*integer);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const toml::array* array = node.as_array()) {
    std::string text;
    for (const toml::node& item : *array) {
      if (text.size() > 60 || item.is_array() || item.is_table()) return "[" + text + ", ...]";
      text += (text.empty() ? "" : ", ") + describe_value(item);
    }
    return "[" + text + "]";
  }
  return node.is_table() ? "a table" : "a date or time";
}

}  // namespace verlc
