// Methods of strings, dicts and lists, as Python has them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/text/jinja_builtins.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

using StringMethod = Value (*)(const std::string& self, const Arguments& arguments, const Site& site);

/// The string argument at `index`; nullptr when absent or none.
const std::string* text_at(const Arguments& arguments, size_t index, std::string_view name,
                           const Site& site) {
  const Value* value = arguments.find(index, name);
  if (value == nullptr || value->is_none()) return nullptr;
  if (value->as_string() == nullptr) site.fail("a method needs a string", value->repr());
  return value->as_string();
}

const std::string& need_text(const Arguments& arguments, std::string_view name, const Site& site) {
  const std::string* text = text_at(arguments, 0, name, site);
  if (text == nullptr) site.fail("a method needs a string");
  return *text;
}

Value split_spaces(const std::string& self, int64_t most, bool from_right) {
  std::vector<Value> parts;
  std::string_view rest = self;
  const auto edge_space = [&](bool left) {
    if (rest.empty()) return size_t{0};
    size_t at = 0;
    if (!left) {
      at = rest.size() - 1;
      while (at > 0 && (static_cast<unsigned char>(rest[at]) & 0xC0) == 0x80) --at;
    }
    const CodePoint point = decode_at(rest, at);
    return is_python_space(point.value) ? size_t{point.size} : size_t{0};
  };
  const auto strip = [&](bool left) {
    for (size_t size = edge_space(left); size > 0; size = edge_space(left)) {
      left ? rest.remove_prefix(size) : rest.remove_suffix(size);
    }
  };
  strip(!from_right);
  while (!rest.empty()) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      strip(from_right);
      parts.emplace_back(std::string(rest));
      break;
    }
    const std::string_view before = rest;
    while (!rest.empty() && edge_space(!from_right) == 0)
      from_right ? rest.remove_suffix(1) : rest.remove_prefix(1);
    const size_t size = before.size() - rest.size();
    parts.emplace_back(std::string(from_right ? before.substr(rest.size()) : before.substr(0, size)));
    strip(!from_right);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value split_text(const std::string& self, const Arguments& arguments, const Site& site, bool from_right) {
  const std::string* separator = text_at(arguments, 0, "sep", site);
  const int64_t most = int_argument(arguments, 1, "maxsplit", -1, site);
  if (separator == nullptr) return split_spaces(self, most, from_right);
  if (separator->empty()) site.fail("split: empty separator");
  std::vector<Value> parts;
  std::string_view rest = self;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = from_right ? rest.rfind(*separator) : rest.find(*separator);
    if (at == std::string_view::npos) break;
    if (from_right) {
      parts.emplace_back(std::string(rest.substr(at + separator->size())));
      rest = rest.substr(0, at);
    } else {
      parts.emplace_back(std::string(rest.substr(0, at)));
      rest = rest.substr(at + separator->size());
    }
  }
  parts.emplace_back(std::string(rest));
  if (from_right) std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value split_lines(const std::string& self, const Arguments& arguments, const Site&) {
  const bool keep = bool_argument(arguments, 0, "keepends", false);
  std::vector<Value> lines;
  size_t begin = 0;
  for (size_t i = 0; i < self.size();) {
    const CodePoint point = decode_at(self, i);
    const char32_t c = point.value;
    const bool ends =
        (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    size_t next = i + point.size;
    if (c == '\r' && next < self.size() && self[next] == '\n') ++next;
    if (ends) {
      lines.emplace_back(self.substr(begin, (keep ? next : i) - begin));
      begin = next;
    }
    i = next;
  }
  if (begin < self.size()) lines.emplace_back(self.substr(begin));
  return Value::list(std::move(lines));
}

bool any_affix(const std::string& self, const Arguments& arguments, const Site& site, bool at_start) {
  const Value* affix = arguments.find(0, at_start ? "prefix" : "suffix");
  if (affix == nullptr) site.fail("startswith and endswith need a string");
  const auto matches = [&](const Value& value) {
    const std::string* text = value.as_string();
    if (text == nullptr) site.fail("startswith and endswith need a string", value.repr());
    return at_start ? self.starts_with(*text) : self.ends_with(*text);
  };
  if (affix->as_list() == nullptr) return matches(*affix);
  return std::any_of(affix->as_list()->items.begin(), affix->as_list()->items.end(), matches);
}

Value replace_text(const std::string& self, const Arguments& arguments, const Site& site) {
  const std::string& from = need_text(arguments, "old", site);
  const std::string* to = text_at(arguments, 1, "new", site);
  if (to == nullptr) site.fail("replace needs two strings");
  int64_t most = int_argument(arguments, 2, "count", -1, site);
  std::string out;
  size_t last = 0;
  for (size_t at = 0; most != 0; --most) {
    at = self.find(from, at);
    if (at == std::string::npos) break;
    out.append(self, last, at - last);
    out += *to;
    check_size(out.size(), site);
    last = at + from.size();
    at = last;
    if (from.empty()) {  // an empty string stands before every character
      if (at >= self.size()) break;
      const size_t size = decode_at(self, at).size;
      out.append(self, at, size);
      at += size;
      last = at;
    }
  }
  if (last < self.size()) out.append(self, last);
  return Value(std::move(out));
}

std::string capitalized(const std::string& self) {
  const size_t first = decode_at(self, 0).size;
  return to_upper(self.substr(0, first)) + to_lower(self.substr(first));
}

Value title(const std::string& self) {
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < self.size();) {
    const CodePoint point = decode_at(self, i);
    const std::string character = self.substr(i, point.size);
    const bool cased = to_lower(character) != to_upper(character);
    out += inside ? to_lower(character) : to_upper(character);
    inside = cased;
    i += point.size;
  }
  return Value(std::move(out));
}

template <typename Has>
bool all_characters(const std::string& self, Has has) {
  for (size_t i = 0; i < self.size();) {
    const CodePoint point = decode_at(self, i);
    if (!has(point.value)) return false;
    i += point.size;
  }
  return !self.empty();
}

bool is_letter(char32_t c) {
  return is_word(c) && !is_number(c) && !is_mark(c) && c != '_';
}

Value find_text(const std::string& self, const Arguments& arguments, const Site& site, bool last) {
  const std::string& needle = need_text(arguments, "sub", site);
  const size_t at = last ? self.rfind(needle) : self.find(needle);
  if (at == std::string::npos) return Value(int64_t{-1});
  return Value(static_cast<int64_t>(count_code_points(std::string_view(self).substr(0, at))));
}

Value count_text(const std::string& self, const Arguments& arguments, const Site& site) {
  const std::string& needle = need_text(arguments, "sub", site);
  if (needle.empty()) return Value(static_cast<int64_t>(count_code_points(self)) + 1);
  int64_t count = 0;
  for (size_t at = self.find(needle); at != std::string::npos; at = self.find(needle, at + needle.size()))
    ++count;
  return Value(count);
}

Value join_text(const std::string& self, const Arguments& arguments, const Site& site) {
  const Value* items = arguments.find(0, "iterable");
  if (items == nullptr) site.fail("join needs a list");
  std::string out;
  bool first = true;
  for (const Value& item : iterate(*items, site)) {
    if (item.as_string() == nullptr) site.fail("join needs strings", item.repr());
    out += (first ? "" : self) + *item.as_string();
    check_size(out.size(), site);
    first = false;
  }
  return Value(std::move(out));
}

Value zfill(const std::string& self, const Arguments& arguments, const Site& site) {
  const int64_t width = int_argument(arguments, 0, "width", 0, site);
  const auto size = static_cast<int64_t>(count_code_points(self));
  if (width <= size) return Value(self);
  check_size(static_cast<size_t>(width), site);
  const bool sign = self.starts_with('-') || self.starts_with('+');
  const std::string zeros(static_cast<size_t>(width - size), '0');
  return Value(sign ? self.substr(0, 1) + zeros + self.substr(1) : zeros + self);
}

const std::map<std::string_view, StringMethod>& string_methods() {
  using S = const std::string&;
  using A = const Arguments&;
  using W = const Site&;
  static const std::map<std::string_view, StringMethod> kMethods = {
      {"strip",
       [](S s, A a, W w) { return Value(strip_characters(s, text_at(a, 0, "chars", w), true, true)); }},
      {"lstrip",
       [](S s, A a, W w) { return Value(strip_characters(s, text_at(a, 0, "chars", w), true, false)); }},
      {"rstrip",
       [](S s, A a, W w) { return Value(strip_characters(s, text_at(a, 0, "chars", w), false, true)); }},
      {"split", [](S s, A a, W w) { return split_text(s, a, w, false); }},
      {"rsplit", [](S s, A a, W w) { return split_text(s, a, w, true); }},
      {"splitlines", split_lines},
      {"startswith", [](S s, A a, W w) { return Value(any_affix(s, a, w, true)); }},
      {"endswith", [](S s, A a, W w) { return Value(any_affix(s, a, w, false)); }},
      {"replace", replace_text},
      {"upper", [](S s, A, W) { return Value(to_upper(s)); }},
      {"lower", [](S s, A, W) { return Value(to_lower(s)); }},
      {"capitalize", [](S s, A, W) { return Value(capitalized(s)); }},
      {"title", [](S s, A, W) { return title(s); }},
      {"find", [](S s, A a, W w) { return find_text(s, a, w, false); }},
      {"rfind", [](S s, A a, W w) { return find_text(s, a, w, true); }},
      {"count", count_text},
      {"join", join_text},
      {"zfill", zfill},
      {"isdigit",
       [](S s, A, W) { return Value(all_characters(s, [](char32_t c) { return is_number(c); })); }},
      {"isalpha", [](S s, A, W) { return Value(all_characters(s, is_letter)); }},
      {"isalnum",
       [](S s, A, W) {
         return Value(all_characters(s, [](char32_t c) { return is_letter(c) || is_number(c); }));
       }},
      {"isspace", [](S s, A, W) { return Value(all_characters(s, is_python_space)); }},
      {"isupper", [](S s, A, W) { return Value(to_upper(s) == s && to_lower(s) != s); }},
      {"islower", [](S s, A, W) { return Value(to_lower(s) == s && to_upper(s) != s); }},
      {"removeprefix",
       [](S s, A a, W w) {
         const std::string& affix = need_text(a, "prefix", w);
         return Value(s.starts_with(affix) ? s.substr(affix.size()) : s);
       }},
      {"removesuffix",
       [](S s, A a, W w) {
         const std::string& affix = need_text(a, "suffix", w);
         return Value(s.ends_with(affix) ? s.substr(0, s.size() - affix.size()) : s);
       }},
  };
  return kMethods;
}

constexpr std::string_view kDictMethods[] = {"get", "items", "keys", "values", "copy"};
constexpr std::string_view kListMethods[] = {"index", "count", "copy"};

std::optional<Value> dict_method(const Dict& self, std::string_view name, const Arguments& arguments,
                                 const Site& site) {
  if (name == "get") {
    const Value* key = arguments.find(0, "key");
    if (key == nullptr) site.fail("get needs a key");
    if (const Value* found = self.find(*key)) return *found;
    const Value* fallback = arguments.find(1, "default");
    return fallback != nullptr ? *fallback : Value(None{});
  }
  if (name == "copy") return Value::dict(self.items);
  std::vector<Value> items;
  for (const auto& [key, value] : self.items) {
    items.push_back(name == "items" ? Value::list({key, value}, true) : name == "keys" ? key : value);
  }
  return Value::list(std::move(items));
}

std::optional<Value> list_method(const List& self, std::string_view name, const Arguments& arguments,
                                 const Site& site) {
  if (name == "copy") return Value::list(self.items, self.is_tuple);
  const Value* wanted = arguments.find(0, "value");
  if (wanted == nullptr) site.fail("index and count need a value");
  const auto same = [&](const Value& item) { return equals(item, *wanted); };
  if (name == "count") {
    return Value(static_cast<int64_t>(std::count_if(self.items.begin(), self.items.end(), same)));
  }
  const auto found = std::find_if(self.items.begin(), self.items.end(), same);
  if (found == self.items.end()) site.fail("the value is not in the list", wanted->repr());
  return Value(static_cast<int64_t>(found - self.items.begin()));
}

}  // namespace

std::string strip_characters(const std::string& text, const std::string* which, bool left, bool right) {
  const auto goes = [&](std::string_view character) {
    if (which == nullptr) return is_python_space(decode_at(character, 0).value);
    return which->find(character) != std::string::npos;
  };
  std::string_view rest = text;
  while (left && !rest.empty()) {
    const size_t size = decode_at(rest, 0).size;
    if (!goes(rest.substr(0, size))) break;
    rest.remove_prefix(size);
  }
  while (right && !rest.empty()) {
    size_t at = rest.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(rest[at]) & 0xC0) == 0x80) --at;
    if (!goes(rest.substr(at))) break;
    rest.remove_suffix(rest.size() - at);
  }
  return std::string(rest);
}

bool has_method(const Value& self, std::string_view name) {
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (self.as_string() != nullptr) return string_methods().contains(name);
  if (self.as_dict() != nullptr) return in(kDictMethods);
  return self.as_list() != nullptr && in(kListMethods);
}

std::optional<Value> call_method(const Value& self, std::string_view name, const Arguments& arguments,
                                 const Site& site) {
  if (!has_method(self, name)) return std::nullopt;
  if (const auto* text = self.as_string()) return string_methods().at(name)(*text, arguments, site);
  if (const auto* dict = self.as_dict()) return dict_method(*dict, name, arguments, site);
  return list_method(*self.as_list(), name, arguments, site);
}

}  // namespace verlc::text::jinja
