#include <algorithm>

#include "core/text/jinja_filters.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;
using W = const Site&;

/// Follows "a.b.0" from a value; missing parts give undefined.
Value follow(V value, V path, W site) {
  if (path.as_string() == nullptr) return get_item(value, path, site);
  Value at = value;
  std::string_view rest = *path.as_string();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    const bool index =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    const Value key = index ? Value(static_cast<int64_t>(std::stoll(part))) : Value(part);
    if (const auto* dict = at.as_dict(); dict != nullptr && dict->find(key) != nullptr) {
      at = *dict->find(key);
    } else {
      at = get_item(at, key, site);
    }
    if (dot == std::string_view::npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

/// The arguments from `count` on.
Arguments tail(A arguments, size_t count) {
  Arguments rest = arguments;
  const size_t drop = std::min(count, rest.positional.size());
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(drop));
  return rest;
}

Value map_items(V value, A arguments, W site) {
  std::vector<Value> items;
  const Value* attribute = arguments.find(SIZE_MAX, "attribute");
  if (attribute == nullptr) {
    const std::string name = string_argument(arguments, 0, "filter", "", site);
    const Filter filter = find_filter(name);
    if (filter == nullptr) site.fail("map needs an attribute or the name of a filter", name);
    const Arguments rest = tail(arguments, 1);
    for (const Value& item : iterate(value, site)) items.push_back(filter(item, rest, site));
    return Value::list(std::move(items));
  }
  const Value* otherwise = arguments.find(SIZE_MAX, "default");
  for (const Value& item : iterate(value, site)) {
    Value found = follow(item, *attribute, site);
    if (found.is_undefined() && otherwise != nullptr) found = *otherwise;
    items.push_back(std::move(found));
  }
  return Value::list(std::move(items));
}

Value select_items(V value, A arguments, W site, bool by_attribute, bool wanted) {
  const size_t skip = by_attribute ? 1 : 0;
  if (by_attribute && arguments.positional.empty()) site.fail("selectattr and rejectattr need an attribute");
  Test test = nullptr;
  if (arguments.positional.size() > skip) {
    const std::string name = string_argument(arguments, skip, "test", "", site);
    test = find_test(name);
    if (test == nullptr) site.fail("test is not supported", name);
  }
  const Arguments rest = tail(arguments, skip + 1);
  std::vector<Value> items;
  for (const Value& item : iterate(value, site)) {
    const Value seen = by_attribute ? follow(item, arguments.positional[0], site) : item;
    const bool holds = test != nullptr ? test(seen, rest, site) : seen.truthy();
    if (holds == wanted) items.push_back(item);
  }
  return Value::list(std::move(items));
}

Value folded(V value, bool case_sensitive) {
  if (case_sensitive || value.as_string() == nullptr) return value;
  return Value(to_lower(*value.as_string()));
}

/// The key by which sort, unique, min and max look at an item.
Value key_of(V item, A arguments, size_t case_at, W site) {
  const Value* attribute = arguments.find(case_at + 1, "attribute");
  const Value seen = attribute != nullptr && !attribute->is_none() ? follow(item, *attribute, site) : item;
  return folded(seen, bool_argument(arguments, case_at, "case_sensitive", false));
}

Value sort_items(V value, A arguments, W site) {
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : iterate(value, site)) keyed.emplace_back(key_of(item, arguments, 1, site), item);
  const bool reverse = bool_argument(arguments, 0, "reverse", false);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first, site) : less(a.first, b.first, site);
  });
  std::vector<Value> items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return Value::list(std::move(items));
}

Value unique_items(V value, A arguments, W site) {
  std::vector<Value> seen;
  std::vector<Value> items;
  for (const Value& item : iterate(value, site)) {
    Value key = key_of(item, arguments, 0, site);
    if (seen.size() > 10000) site.fail("unique: too many different items");
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& own) { return equals(own, key); })) continue;
    seen.push_back(std::move(key));
    items.push_back(item);
  }
  return Value::list(std::move(items));
}

Value extreme(V value, A arguments, W site, bool largest) {
  Value best;
  Value best_key;
  for (const Value& item : iterate(value, site)) {
    Value key = key_of(item, arguments, 0, site);
    const bool better =
        best_key.is_undefined() || (largest ? less(best_key, key, site) : less(key, best_key, site));
    if (!better) continue;
    best = item;
    best_key = std::move(key);
  }
  return best;
}

Value sum_items(V value, A arguments, W site) {
  const Value* attribute = arguments.find(0, "attribute");
  const Value* start = arguments.find(1, "start");
  Value total = start != nullptr ? *start : Value(int64_t{0});
  for (const Value& item : iterate(value, site)) {
    const bool inside = attribute != nullptr && !attribute->is_none();
    total = apply_binary("+", total, inside ? follow(item, *attribute, site) : item, site);
  }
  return total;
}

Value join_items(V value, A arguments, W site) {
  const std::string glue = string_argument(arguments, 0, "d", "", site);
  const Value* attribute = arguments.find(1, "attribute");
  std::string out;
  bool first = true;
  for (const Value& item : iterate(value, site)) {
    if (!first) out += glue;
    out += attribute != nullptr && !attribute->is_none() ? follow(item, *attribute, site).str() : item.str();
    check_size(out.size(), site);
    first = false;
  }
  return Value(std::move(out));
}

Value dict_items(V value, A, W site) {
  if (value.is_undefined()) return Value::list({});
  if (value.as_dict() == nullptr) site.fail("items needs a mapping", value.repr());
  return *call_method(value, "items", {}, site);
}

Value dict_sorted(V value, A arguments, W site) {
  if (value.as_dict() == nullptr) site.fail("dictsort needs a mapping", value.repr());
  const bool case_sensitive = bool_argument(arguments, 0, "case_sensitive", false);
  const bool by_value = string_argument(arguments, 1, "by", "key", site) == "value";
  const bool reverse = bool_argument(arguments, 2, "reverse", false);
  auto items = value.as_dict()->items;
  std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
    const Value left = folded(by_value ? a.second : a.first, case_sensitive);
    const Value right = folded(by_value ? b.second : b.first, case_sensitive);
    return reverse ? less(right, left, site) : less(left, right, site);
  });
  std::vector<Value> pairs;
  for (auto& [key, item] : items) pairs.push_back(Value::list({key, item}, true));
  return Value::list(std::move(pairs));
}

Value reversed(V value, A, W site) {
  if (value.as_string() != nullptr) return get_slice(value, Value(), Value(), Value(int64_t{-1}), site);
  std::vector<Value> items = iterate(value, site);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value edge(V value, W site, bool first) {
  const std::vector<Value> items = iterate(value, site);
  if (items.empty()) return Value(Undefined{"item of an empty sequence"});
  return first ? items.front() : items.back();
}

Value batch(V value, A arguments, W site) {
  const int64_t size = int_argument(arguments, 0, "linecount", 1, site);
  const Value* fill = arguments.find(1, "fill_with");
  if (size < 1 || size > 1'000'000) site.fail("batch: the size is out of range");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : iterate(value, site)) {
    row.push_back(item);
    if (static_cast<int64_t>(row.size()) == size) rows.push_back(Value::list(std::exchange(row, {})));
  }
  if (!row.empty()) {
    while (fill != nullptr && static_cast<int64_t>(row.size()) < size) row.push_back(*fill);
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(rows));
}

}  // namespace

void add_sequence_filters(FilterTable& table) {
  table["length"] = [](V v, A, W w) { return Value(length(v, w)); };
  table["count"] = table["length"];
  table["items"] = dict_items;
  table["map"] = map_items;
  table["select"] = [](V v, A a, W w) { return select_items(v, a, w, false, true); };
  table["reject"] = [](V v, A a, W w) { return select_items(v, a, w, false, false); };
  table["selectattr"] = [](V v, A a, W w) { return select_items(v, a, w, true, true); };
  table["rejectattr"] = [](V v, A a, W w) { return select_items(v, a, w, true, false); };
  table["join"] = join_items;
  table["list"] = [](V v, A, W w) { return Value::list(iterate(v, w)); };
  table["first"] = [](V v, A, W w) { return edge(v, w, true); };
  table["last"] = [](V v, A, W w) { return edge(v, w, false); };
  table["reverse"] = reversed;
  table["sort"] = sort_items;
  table["unique"] = unique_items;
  table["min"] = [](V v, A a, W w) { return extreme(v, a, w, false); };
  table["max"] = [](V v, A a, W w) { return extreme(v, a, w, true); };
  table["sum"] = sum_items;
  table["dictsort"] = dict_sorted;
  table["batch"] = batch;
  table["attr"] = [](V v, A a, W w) { return get_attribute(v, string_argument(a, 0, "name", "", w), w); };
}

namespace {

const FilterTable& filters() {
  static const FilterTable kFilters = [] {
    FilterTable table;
    add_scalar_filters(table);
    add_sequence_filters(table);
    return table;
  }();
  return kFilters;
}

}  // namespace

Filter find_filter(std::string_view name) {
  const auto found = filters().find(name);
  return found == filters().end() ? nullptr : found->second;
}

std::string filter_names() {
  std::string names;
  for (const auto& [name, filter] : filters()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::string string_argument(A arguments, size_t index, std::string_view name, const std::string& fallback,
                            W site) {
  const Value* value = arguments.find(index, name);
  if (value == nullptr) return fallback;
  if (value->as_string() == nullptr)
    site.fail("argument '" + std::string(name) + "' must be a string", value->repr());
  return *value->as_string();
}

int64_t int_argument(A arguments, size_t index, std::string_view name, int64_t fallback, W site) {
  const Value* value = arguments.find(index, name);
  if (value == nullptr) return fallback;
  if (const auto* truth = value->get<bool>()) return *truth ? 1 : 0;
  if (value->as_int() == nullptr)
    site.fail("argument '" + std::string(name) + "' must be an integer", value->repr());
  return *value->as_int();
}

bool bool_argument(A arguments, size_t index, std::string_view name, bool fallback) {
  const Value* value = arguments.find(index, name);
  return value == nullptr ? fallback : value->truthy();
}

}  // namespace verlc::text::jinja
