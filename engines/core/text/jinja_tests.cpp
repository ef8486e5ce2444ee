// The tests of the template language: what may follow `is`.
#include <map>

#include "core/text/jinja_builtins.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;
using W = const Site&;

const Value& other(A arguments, W site) {
  if (arguments.positional.empty()) site.fail("a test needs an argument");
  return arguments.positional[0];
}

int64_t whole(V value, W site) {
  if (value.as_int() != nullptr) return *value.as_int();
  if (const auto* truth = value.get<bool>()) return *truth ? 1 : 0;
  site.fail("a test needs an integer", value.repr());
}

bool is_iterable(V value) {
  return value.as_list() != nullptr || value.as_dict() != nullptr || value.as_string() != nullptr ||
         value.is_undefined();
}

const std::map<std::string_view, Test>& tests() {
  static const std::map<std::string_view, Test> kTests = {
      {"defined", [](V v, A, W) { return !v.is_undefined(); }},
      {"undefined", [](V v, A, W) { return v.is_undefined(); }},
      {"none", [](V v, A, W) { return v.is_none(); }},
      {"string", [](V v, A, W) { return v.as_string() != nullptr; }},
      {"number", [](V v, A, W) { return v.is_number(); }},
      {"integer", [](V v, A, W) { return v.as_int() != nullptr; }},
      {"float", [](V v, A, W) { return v.get<double>() != nullptr; }},
      {"boolean", [](V v, A, W) { return v.get<bool>() != nullptr; }},
      {"true", [](V v, A, W) { return v.get<bool>() != nullptr && *v.get<bool>(); }},
      {"false", [](V v, A, W) { return v.get<bool>() != nullptr && !*v.get<bool>(); }},
      {"mapping", [](V v, A, W) { return v.as_dict() != nullptr; }},
      {"sequence", [](V v, A, W) { return is_iterable(v); }},
      {"iterable", [](V v, A, W) { return is_iterable(v); }},
      {"callable", [](V v, A, W) { return v.as_callable() != nullptr; }},
      {"in", [](V v, A a, W w) { return contains(other(a, w), v, w); }},
      {"sameas",
       [](V v, A a, W w) { return v.type_name() == other(a, w).type_name() && equals(v, other(a, w)); }},
      {"odd", [](V v, A, W w) { return whole(v, w) % 2 != 0; }},
      {"even", [](V v, A, W w) { return whole(v, w) % 2 == 0; }},
      {"divisibleby",
       [](V v, A a, W w) {
         const int64_t divisor = whole(other(a, w), w);
         if (divisor == 0) w.fail("division by zero");
         return divisor == -1 || whole(v, w) % divisor == 0;
       }},
      {"lower", [](V v, A, W) { return to_lower(v.str()) == v.str() && to_upper(v.str()) != v.str(); }},
      {"upper", [](V v, A, W) { return to_upper(v.str()) == v.str() && to_lower(v.str()) != v.str(); }},
      {"eq", [](V v, A a, W w) { return apply_comparison("==", v, other(a, w), w); }},
      {"equalto", [](V v, A a, W w) { return apply_comparison("==", v, other(a, w), w); }},
      {"ne", [](V v, A a, W w) { return apply_comparison("!=", v, other(a, w), w); }},
      {"lt", [](V v, A a, W w) { return apply_comparison("<", v, other(a, w), w); }},
      {"lessthan", [](V v, A a, W w) { return apply_comparison("<", v, other(a, w), w); }},
      {"le", [](V v, A a, W w) { return apply_comparison("<=", v, other(a, w), w); }},
      {"gt", [](V v, A a, W w) { return apply_comparison(">", v, other(a, w), w); }},
      {"greaterthan", [](V v, A a, W w) { return apply_comparison(">", v, other(a, w), w); }},
      {"ge", [](V v, A a, W w) { return apply_comparison(">=", v, other(a, w), w); }},
  };
  return kTests;
}

}  // namespace

Test find_test(std::string_view name) {
  const auto found = tests().find(name);
  return found == tests().end() ? nullptr : found->second;
}

std::string test_names() {
  std::string names;
  for (const auto& [name, test] : tests()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace verlc::text::jinja
