#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/jinja_builtins.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

[[noreturn]] void fail_operands(std::string_view op, const Value& left, const Value& right,
                                const Site& site) {
  for (const Value* side : {&left, &right}) {
    if (const auto* undefined = side->get<Undefined>()) site.fail("'" + undefined->name + "' is undefined");
  }
  site.fail(
      fmt::format("unsupported operands for {}: '{}' and '{}'", op, left.type_name(), right.type_name()));
}

std::optional<int64_t> whole_number(const Value& value) {
  if (const auto* v = value.get<bool>()) return *v ? 1 : 0;
  if (const auto* v = value.get<int64_t>()) return *v;
  return std::nullopt;
}

double real_number(const Value& value) {
  if (const auto* v = value.get<double>()) return *v;
  return static_cast<double>(whole_number(value).value_or(0));
}

Value checked(bool overflow, int64_t value, const Site& site) {
  if (overflow) site.fail("the number is too large");
  return Value(value);
}

Value divide_whole(std::string_view op, int64_t a, int64_t b, const Site& site) {
  if (b == 0) site.fail("division by zero");
  if (b == -1) {  // the one quotient that overflows
    int64_t negated = 0;
    const bool overflow = __builtin_sub_overflow(int64_t{0}, a, &negated);
    return op == "%" ? Value(int64_t{0}) : checked(overflow, negated, site);
  }
  int64_t quotient = a / b;
  int64_t rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    --quotient;
    rest += b;
  }
  return Value(op == "%" ? rest : quotient);
}

Value power_whole(int64_t base, int64_t exponent, const Site& site) {
  if (exponent < 0) return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  int64_t result = 1;
  if (base == 0 || base == 1) return Value(exponent == 0 ? int64_t{1} : base);
  if (base == -1) return Value(exponent % 2 == 0 ? int64_t{1} : int64_t{-1});
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) site.fail("the number is too large");
  }
  return Value(result);
}

Value arithmetic_whole(std::string_view op, int64_t a, int64_t b, const Site& site) {
  int64_t result = 0;
  if (op == "+") {
    const bool overflow = __builtin_add_overflow(a, b, &result);
    return checked(overflow, result, site);
  }
  if (op == "-") {
    const bool overflow = __builtin_sub_overflow(a, b, &result);
    return checked(overflow, result, site);
  }
  if (op == "*") {
    const bool overflow = __builtin_mul_overflow(a, b, &result);
    return checked(overflow, result, site);
  }
  if (op == "/") {
    if (b == 0) site.fail("division by zero");
    return Value(static_cast<double>(a) / static_cast<double>(b));
  }
  if (op == "**") return power_whole(a, b, site);
  return divide_whole(op, a, b, site);
}

Value arithmetic_real(std::string_view op, double a, double b, const Site& site) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return Value(std::pow(a, b));
  if (b == 0) site.fail("division by zero");
  if (op == "/") return Value(a / b);
  if (op == "//") return Value(std::floor(a / b));
  const double rest = std::fmod(a, b);
  return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value repeat(const Value& what, int64_t times, const Site& site) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (const auto* text = what.as_string()) {
    if (!text->empty()) check_size(count > kMostSize ? count : count * text->size(), site);
    std::string out;
    for (size_t i = 0; i < count && !text->empty(); ++i) out += *text;
    return Value(std::move(out));
  }
  const List& list = *what.as_list();
  if (!list.items.empty()) check_size(count > kMostSize ? count : count * list.items.size(), site);
  std::vector<Value> items;
  for (size_t i = 0; i < count && !list.items.empty(); ++i) {
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return Value::list(std::move(items), list.is_tuple);
}

/// Python's "text" % values for %s, %r, %d and %%.
Value format_percent(const std::string& text, const Value& values, const Site& site) {
  std::vector<Value> items{values};
  if (values.as_list() != nullptr && values.as_list()->is_tuple) items = values.as_list()->items;
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const char kind = ++i < text.size() ? text[i] : ' ';
    if (kind == '%') {
      out += '%';
      continue;
    }
    if (kind != 's' && kind != 'r' && kind != 'd') site.fail("only %s, %r, %d and %% are supported");
    if (next >= items.size()) site.fail("not enough values for the format string");
    const Value& value = items[next++];
    if (kind == 'd' && !whole_number(value)) site.fail("%d needs an integer");
    out += kind == 's' ? value.str() : kind == 'r' ? value.repr() : std::to_string(*whole_number(value));
  }
  if (next < items.size()) site.fail("too many values for the format string");
  return Value(std::move(out));
}

/// Python's slice.indices: the first index and the end of a walk with `step`.
struct Walk {
  int64_t begin, end, step;
};

Walk walk_of(int64_t size, const Value& start, const Value& stop, const Value& step_value, const Site& site) {
  const auto part = [&](const Value& value) -> std::optional<int64_t> {
    if (value.is_none() || value.is_undefined()) return std::nullopt;
    const auto number = whole_number(value);
    if (!number) site.fail("a slice needs integers", value.repr());
    return number;
  };
  const int64_t step = part(step_value).value_or(1);
  if (step == 0) site.fail("a slice's step is zero");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto place = [&](std::optional<int64_t> at, int64_t absent) {
    if (!at) return absent;
    if (*at < 0) return *at < -size ? low : std::max(*at + size, low);
    return std::min(*at, high);
  };
  return {place(part(start), step > 0 ? 0 : size - 1), place(part(stop), step > 0 ? size : -1), step};
}

}  // namespace

void check_size(size_t size, const Site& site) {
  if (size > kMostSize) site.fail("a value grows beyond the limit");
}

Value apply_binary(std::string_view op, const Value& left, const Value& right, const Site& site) {
  if (op == "~") {
    std::string text = left.str() + right.str();
    check_size(text.size(), site);
    return Value(std::move(text));
  }
  if (left.is_number() && right.is_number()) {
    const auto a = whole_number(left);
    const auto b = whole_number(right);
    return a && b ? arithmetic_whole(op, *a, *b, site)
                  : arithmetic_real(op, real_number(left), real_number(right), site);
  }
  if (op == "+" && left.as_string() != nullptr && right.as_string() != nullptr) {
    check_size(left.as_string()->size() + right.as_string()->size(), site);
    return Value(*left.as_string() + *right.as_string());
  }
  const List* a = left.as_list();
  const List* b = right.as_list();
  if (op == "+" && a != nullptr && b != nullptr && a->is_tuple == b->is_tuple) {
    check_size(a->items.size() + b->items.size(), site);
    std::vector<Value> items = a->items;
    items.insert(items.end(), b->items.begin(), b->items.end());
    return Value::list(std::move(items), a->is_tuple);
  }
  if (op == "*") {
    if ((left.as_string() != nullptr || a != nullptr) && whole_number(right)) {
      return repeat(left, *whole_number(right), site);
    }
    if ((right.as_string() != nullptr || b != nullptr) && whole_number(left)) {
      return repeat(right, *whole_number(left), site);
    }
  }
  if (op == "%" && left.as_string() != nullptr) return format_percent(*left.as_string(), right, site);
  fail_operands(op, left, right, site);
}

Value apply_sign(std::string_view op, const Value& value, const Site& site) {
  if (const auto* v = value.get<double>()) return Value(op == "-" ? -*v : *v);
  const auto number = whole_number(value);
  if (!number) fail_operands(op, value, value, site);
  return op == "-" ? arithmetic_whole("-", 0, *number, site) : Value(*number);
}

bool apply_comparison(std::string_view op, const Value& left, const Value& right, const Site& site) {
  if (op == "==") return equals(left, right);
  if (op == "!=") return !equals(left, right);
  if (op == "in") return contains(right, left, site);
  if (op == "not in") return !contains(right, left, site);
  if (left.is_undefined() || right.is_undefined()) fail_operands(op, left, right, site);
  if (op == "<") return less(left, right, site);
  if (op == ">") return less(right, left, site);
  if (op == "<=") return less(left, right, site) || equals(left, right);
  return less(right, left, site) || equals(left, right);
}

Value get_attribute(const Value& base, const std::string& name, const Site& site) {
  if (const auto* undefined = base.get<Undefined>())
    site.fail("'" + undefined->name + "' is undefined", "." + name);
  if (has_method(base, name)) {
    auto call = [base, name](const Arguments& arguments, const Site& at) {
      return call_method(base, name, arguments, at).value_or(Value());
    };
    return Value(Value::Storage(std::make_shared<const Callable>(Callable{name, std::move(call)})));
  }
  if (const auto* dict = base.as_dict()) {
    if (const Value* found = dict->find(std::string_view(name))) return *found;
  }
  if (auto* names = base.as_namespace()) {
    if (const Value* found = names->find(name)) return *found;
  }
  return Value(Undefined{name});
}

Value get_item(const Value& base, const Value& key, const Site& site) {
  if (const auto* undefined = base.get<Undefined>())
    site.fail("'" + undefined->name + "' is undefined", key.repr());
  if (const auto* dict = base.as_dict()) {
    if (const Value* found = dict->find(key)) return *found;
  }
  if (const auto index = whole_number(key)) {
    if (const auto* list = base.as_list()) {
      const auto size = static_cast<int64_t>(list->items.size());
      const int64_t at = *index < 0 ? *index + size : *index;
      if (at >= 0 && at < size) return list->items[static_cast<size_t>(at)];
    } else if (base.as_string() != nullptr && *index != INT64_MAX) {
      const Value end = *index == -1 ? Value(None{}) : Value(*index + 1);
      Value piece = get_slice(base, key, end, Value(), site);
      if (piece.truthy()) return piece;
    }
    return Value(Undefined{key.repr()});
  }
  if (const auto* name = key.as_string()) return get_attribute(base, *name, site);
  return Value(Undefined{key.repr()});
}

Value get_slice(const Value& base, const Value& start, const Value& stop, const Value& step,
                const Site& site) {
  if (const auto* undefined = base.get<Undefined>()) site.fail("'" + undefined->name + "' is undefined");
  if (base.as_string() == nullptr && base.as_list() == nullptr) {
    site.fail(fmt::format("'{}' cannot be sliced", base.type_name()));
  }
  const std::vector<Value> from = iterate(base, site);
  const Walk walk = walk_of(static_cast<int64_t>(from.size()), start, stop, step, site);
  std::vector<Value> items;
  std::string text;
  int64_t at = walk.begin;
  while (walk.step > 0 ? at < walk.end : at > walk.end) {
    const Value& item = from[static_cast<size_t>(at)];
    if (base.as_string() != nullptr) {
      text += *item.as_string();
    } else {
      items.push_back(item);
    }
    if (__builtin_add_overflow(at, walk.step, &at)) break;
  }
  if (base.as_string() != nullptr) return Value(std::move(text));
  return Value::list(std::move(items), base.as_list()->is_tuple);
}

}  // namespace verlc::text::jinja
