// How values are written: Python's str and repr, and json.dumps.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text/jinja_value.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

constexpr int kMostDepth = 200;

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const utf8proc_category_t kind = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const bool separator = kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP;
  const bool other = kind == UTF8PROC_CATEGORY_CN || kind >= UTF8PROC_CATEGORY_CC;
  return !separator && !other;
}

std::string repr_of_string(const std::string& text) {
  const bool use_double = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    const char32_t c = point.value;
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(i, point.size);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
    i += point.size;
  }
  return out + quote;
}

std::string repr_at(const Value& value, int depth) {
  if (depth > kMostDepth) return "...";
  if (value.is_undefined()) return "Undefined";
  if (const auto* text = value.as_string()) return repr_of_string(*text);
  std::string out;
  if (const auto* list = value.as_list()) {
    for (const Value& item : list->items) out += (out.empty() ? "" : ", ") + repr_at(item, depth + 1);
    if (!list->is_tuple) return "[" + out + "]";
    return "(" + out + (list->items.size() == 1 ? ",)" : ")");
  }
  if (const auto* dict = value.as_dict()) {
    for (const auto& [key, item] : dict->items) {
      out += (out.empty() ? "" : ", ") + repr_at(key, depth + 1) + ": " + repr_at(item, depth + 1);
    }
    return "{" + out + "}";
  }
  return value.str();
}

void append_unicode_escape(std::string& out, char32_t c) {
  if (c >= 0x10000) {
    const uint32_t rest = static_cast<uint32_t>(c) - 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  } else {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  }
}

std::string json_string(const std::string& text, bool ensure_ascii) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    switch (point.value) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (point.value < 0x20 || (ensure_ascii && point.value > 0x7E)) {
          append_unicode_escape(out, point.value);
        } else {
          out.append(text, i, point.size);
        }
    }
    i += point.size;
  }
  return out + "\"";
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, const Site& site) : style_(style), site_(site) {
    item_ = style.item_separator.empty() ? (style.indent >= 0 ? "," : ", ") : style.item_separator;
    key_ = style.key_separator.empty() ? ": " : style.key_separator;
  }

  void write(const Value& value, int depth) {
    if (depth > kMostDepth) site_.fail("tojson: nested over 200 levels");
    if (out.size() > kMostSize) site_.fail("tojson: the result is too long");
    if (const auto* list = value.as_list()) {
      write_list(*list, depth);
    } else if (const auto* dict = value.as_dict()) {
      write_dict(*dict, depth);
    } else if (const auto* text = value.as_string()) {
      out += json_string(*text, style_.ensure_ascii);
    } else {
      out += scalar(value);
    }
  }

  std::string out;

 private:
  std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const auto* v = value.get<bool>()) return *v ? "true" : "false";
    if (const auto* v = value.get<int64_t>()) return std::to_string(*v);
    if (const auto* v = value.get<double>()) {
      if (std::isnan(*v)) return "NaN";
      if (std::isinf(*v)) return *v > 0 ? "Infinity" : "-Infinity";
      return repr_of(*v);
    }
    site_.fail(fmt::format("tojson: '{}' is not JSON serializable", value.type_name()));
  }

  void line(int depth) {
    if (style_.indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(style_.indent) * static_cast<size_t>(depth), ' ');
  }

  void write_list(const List& list, int depth) {
    out += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out += item_;
      line(depth + 1);
      write(list.items[i], depth + 1);
    }
    if (!list.items.empty()) line(depth);
    out += ']';
  }

  void write_dict(const Dict& dict, int depth) {
    auto items = dict.items;
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(),
                       [&](const auto& a, const auto& b) { return less(a.first, b.first, site_); });
    }
    out += '{';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += item_;
      line(depth + 1);
      const std::string* key = items[i].first.as_string();
      out += json_string(key != nullptr ? *key : scalar(items[i].first), style_.ensure_ascii);
      out += key_;
      write(items[i].second, depth + 1);
    }
    if (!items.empty()) line(depth);
    out += '}';
  }

  const JsonStyle& style_;
  const Site& site_;
  std::string item_;
  std::string key_;
};

}  // namespace

std::string repr_of(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto made = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(made.ptr - buffer));
  const size_t mark = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed);
  std::string out(buffer, fixed.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string Value::str() const {
  if (const auto* v = as_string()) return *v;
  if (is_undefined()) return {};
  if (is_none()) return "None";
  if (const auto* v = get<bool>()) return *v ? "True" : "False";
  if (const auto* v = get<int64_t>()) return std::to_string(*v);
  if (const auto* v = get<double>()) return repr_of(*v);
  if (const auto* v = as_callable()) return "<function " + v->name + ">";
  if (as_namespace() != nullptr) return "<Namespace>";
  return repr_at(*this, 0);
}

std::string Value::repr() const {
  return repr_at(*this, 0);
}

std::string to_json(const Value& value, const JsonStyle& style, const Site& site) {
  JsonWriter writer(style, site);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace verlc::text::jinja
