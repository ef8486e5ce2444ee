#include "recipe/field.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace verlc {
namespace {

struct TypeName {
  std::string operator()(bool*) const { return "bool"; }
  std::string operator()(int64_t*) const { return "integer"; }
  std::string operator()(double*) const { return "number"; }
  std::string operator()(std::string*) const { return "string"; }
  std::string operator()(ByteSize*) const { return "bytes"; }
  std::string operator()(FreeTable*) const { return "table"; }
  std::string operator()(std::optional<bool>*) const { return "bool"; }
  std::string operator()(std::optional<int64_t>*) const { return "integer"; }
  std::string operator()(std::optional<double>*) const { return "number"; }
  std::string operator()(std::vector<std::string>*) const { return "string or list of strings"; }
  std::string operator()(std::vector<double>*) const { return "list of numbers"; }
};

}  // namespace

std::string type_name(const FieldRef& value) {
  return std::visit(TypeName{}, value);
}

std::string range_text(const FieldSpec& spec) {
  std::string text;
  const auto join = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (spec.min && spec.max) {
    join(fmt::format("{}{}, {}{}", spec.above_min ? '(' : '[', *spec.min, *spec.max,
                     spec.below_max ? ')' : ']'));
  } else if (spec.min) {
    join(fmt::format("{} {}", spec.above_min ? ">" : ">=", *spec.min));
  } else if (spec.max) {
    join(fmt::format("{} {}", spec.below_max ? "<" : "<=", *spec.max));
  }
  if (spec.multiple_of > 0) join(fmt::format("a multiple of {}", spec.multiple_of));
  if (spec.length > 0) join(fmt::format("{} values", spec.length));
  return text;
}

bool in_range(double value, const FieldSpec& spec) {
  if (spec.min && (value < *spec.min || (spec.above_min && value == *spec.min))) return false;
  if (spec.max && (value > *spec.max || (spec.below_max && value == *spec.max))) return false;
  return true;
}

std::string choices_text(const FieldSpec& spec) {
  std::string text;
  for (const std::string_view choice : spec.choices)
    text += (text.empty() ? "" : " | ") + std::string(choice);
  return text;
}

}  // namespace verlc
