#include "core/text/jinja_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {

void Site::fail(const std::string& what, const std::string& value) const {
  fail_input({.what = what, .where = fmt::format("{}:{}", name, line), .value = value, .fix = {}});
}

Value Value::list(std::vector<Value> items, bool is_tuple) {
  return Value(Storage(std::make_shared<const List>(List{std::move(items), is_tuple})));
}

Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  return Value(Storage(std::make_shared<const Dict>(Dict{std::move(items)})));
}

Value Value::from_json(const OrderedJson& json) {
  switch (json.type()) {
    case OrderedJson::value_t::null:
    case OrderedJson::value_t::discarded:
    case OrderedJson::value_t::binary:
      return Value(None{});
    case OrderedJson::value_t::boolean:
      return Value(json.get<bool>());
    case OrderedJson::value_t::number_integer:
      return Value(json.get<int64_t>());
    case OrderedJson::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      return number <= uint64_t{INT64_MAX} ? Value(static_cast<int64_t>(number))
                                           : Value(static_cast<double>(number));
    }
    case OrderedJson::value_t::number_float:
      return Value(json.get<double>());
    case OrderedJson::value_t::string:
      return Value(json.get<std::string>());
    case OrderedJson::value_t::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(from_json(item));
      return list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto& [key, item] : json.items()) items.emplace_back(Value(key), from_json(item));
      return dict(std::move(items));
    }
  }
  return Value(None{});
}

bool Value::is_number() const {
  return get<bool>() != nullptr || get<int64_t>() != nullptr || get<double>() != nullptr;
}

const List* Value::as_list() const {
  const auto* held = get<std::shared_ptr<const List>>();
  return held == nullptr ? nullptr : held->get();
}

const Dict* Value::as_dict() const {
  const auto* held = get<std::shared_ptr<const Dict>>();
  return held == nullptr ? nullptr : held->get();
}

Namespace* Value::as_namespace() const {
  const auto* held = get<std::shared_ptr<Namespace>>();
  return held == nullptr ? nullptr : held->get();
}

const Callable* Value::as_callable() const {
  const auto* held = get<std::shared_ptr<const Callable>>();
  return held == nullptr ? nullptr : held->get();
}

bool Value::truthy() const {
  if (const auto* v = get<bool>()) return *v;
  if (const auto* v = get<int64_t>()) return *v != 0;
  if (const auto* v = get<double>()) return *v != 0;
  if (const auto* v = as_string()) return !v->empty();
  if (const auto* v = as_list()) return !v->items.empty();
  if (const auto* v = as_dict()) return !v->items.empty();
  return !is_undefined() && !is_none();
}

std::string Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (get<bool>() != nullptr) return "bool";
  if (get<int64_t>() != nullptr) return "int";
  if (get<double>() != nullptr) return "float";
  if (as_string() != nullptr) return "str";
  if (const auto* v = as_list()) return v->is_tuple ? "tuple" : "list";
  if (as_dict() != nullptr) return "dict";
  if (as_namespace() != nullptr) return "Namespace";
  return "function";
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [own, value] : items) {
    if (equals(own, key)) return &value;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [own, value] : items) {
    const std::string* text = own.as_string();
    if (text != nullptr && *text == key) return &value;
  }
  return nullptr;
}

Value* Namespace::find(std::string_view key) {
  for (auto& [own, value] : items) {
    if (own == key) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view key, Value value) {
  if (Value* own = find(key)) {
    *own = std::move(value);
  } else {
    items.emplace_back(key, std::move(value));
  }
}

const Value* Arguments::find(size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [own, value] : named) {
    if (own == name) return &value;
  }
  return nullptr;
}

namespace {

double number_of(const Value& value) {
  if (const auto* v = value.get<bool>()) return *v ? 1 : 0;
  if (const auto* v = value.get<int64_t>()) return static_cast<double>(*v);
  return *value.get<double>();
}

bool is_exact(const Value& value) {
  return value.get<double>() == nullptr;
}

int64_t integer_of(const Value& value) {
  if (const auto* v = value.get<bool>()) return *v ? 1 : 0;
  return *value.get<int64_t>();
}

bool lists_equal(const List& a, const List& b) {
  return a.is_tuple == b.is_tuple &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equals);
}

bool dicts_equal(const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = b.find(item.first);
    return other != nullptr && equals(item.second, *other);
  });
}

}  // namespace

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return is_exact(a) && is_exact(b) ? integer_of(a) == integer_of(b) : number_of(a) == number_of(b);
  }
  if (a.as_string() != nullptr && b.as_string() != nullptr) return *a.as_string() == *b.as_string();
  if (a.as_list() != nullptr && b.as_list() != nullptr) return lists_equal(*a.as_list(), *b.as_list());
  if (a.as_dict() != nullptr && b.as_dict() != nullptr) return dicts_equal(*a.as_dict(), *b.as_dict());
  if (a.as_namespace() != nullptr) return a.as_namespace() == b.as_namespace();
  if (a.as_callable() != nullptr) return a.as_callable() == b.as_callable();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool less(const Value& a, const Value& b, const Site& site) {
  if (a.is_number() && b.is_number()) {
    return is_exact(a) && is_exact(b) ? integer_of(a) < integer_of(b) : number_of(a) < number_of(b);
  }
  // UTF-8 keeps the order of code points.
  if (a.as_string() != nullptr && b.as_string() != nullptr) return *a.as_string() < *b.as_string();
  if (a.as_list() != nullptr && b.as_list() != nullptr) {
    const auto& left = a.as_list()->items;
    const auto& right = b.as_list()->items;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!equals(left[i], right[i])) return less(left[i], right[i], site);
    }
    return left.size() < right.size();
  }
  site.fail(fmt::format("'{}' and '{}' have no order", a.type_name(), b.type_name()));
}

bool contains(const Value& haystack, const Value& needle, const Site& site) {
  if (const auto* text = haystack.as_string()) {
    if (needle.as_string() == nullptr) {
      site.fail(fmt::format("'in <string>' needs a string on its left, not '{}'", needle.type_name()));
    }
    return text->find(*needle.as_string()) != std::string::npos;
  }
  if (const auto* dict = haystack.as_dict()) return dict->find(needle) != nullptr;
  const std::vector<Value> items = iterate(haystack, site);
  return std::any_of(items.begin(), items.end(), [&](const Value& item) { return equals(item, needle); });
}

std::vector<Value> iterate(const Value& value, const Site& site) {
  if (const auto* list = value.as_list()) return list->items;
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (const auto* dict = value.as_dict()) {
    for (const auto& [key, item] : dict->items) items.push_back(key);
    return items;
  }
  if (const auto* text = value.as_string()) {
    for (size_t i = 0; i < text->size();) {
      const CodePoint point = decode_at(*text, i);
      items.emplace_back(text->substr(i, point.size));
      i += point.size;
    }
    return items;
  }
  site.fail(fmt::format("'{}' is not iterable", value.type_name()));
}

int64_t length(const Value& value, const Site& site) {
  if (const auto* text = value.as_string()) return static_cast<int64_t>(count_code_points(*text));
  if (const auto* list = value.as_list()) return static_cast<int64_t>(list->items.size());
  if (const auto* dict = value.as_dict()) return static_cast<int64_t>(dict->items.size());
  if (value.is_undefined()) return 0;
  site.fail(fmt::format("'{}' has no length", value.type_name()));
}

bool is_python_space(char32_t c) {
  return is_space(c) || (c >= 0x1C && c <= 0x1F);
}

}  // namespace verlc::text::jinja
