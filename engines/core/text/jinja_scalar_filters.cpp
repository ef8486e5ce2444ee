#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/text/jinja_filters.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;
using W = const Site&;

Value method(V value, std::string_view name, A arguments, W site) {
  return call_method(Value(value.str()), name, arguments, site).value_or(Value());
}

Value tojson(V value, A arguments, W site) {
  JsonStyle style;
  style.ensure_ascii = bool_argument(arguments, 0, "ensure_ascii", false);
  const Value* indent = arguments.find(1, "indent");
  if (indent != nullptr && !indent->is_none()) {
    const int64_t width = int_argument(arguments, 1, "indent", 0, site);
    if (width > 1000) site.fail("tojson: the indent is too large");
    style.indent = static_cast<int>(std::max<int64_t>(width, 0));
  }
  const Value* separators = arguments.find(2, "separators");
  if (separators != nullptr && !separators->is_none()) {
    const std::vector<Value> pair = iterate(*separators, site);
    if (pair.size() != 2 || pair[0].as_string() == nullptr || pair[1].as_string() == nullptr) {
      site.fail("tojson: separators must be two strings");
    }
    style.item_separator = *pair[0].as_string();
    style.key_separator = *pair[1].as_string();
  }
  style.sort_keys = bool_argument(arguments, 3, "sort_keys", false);
  return Value(to_json(value, style, site));
}

Value to_int(V value, A arguments, W site) {
  const int64_t fallback = int_argument(arguments, 0, "default", 0, site);
  if (const auto* v = value.get<bool>()) return Value(int64_t{*v});
  if (value.as_int() != nullptr) return value;
  if (const auto* v = value.get<double>()) {
    return std::isfinite(*v) && std::fabs(*v) < 9e18 ? Value(static_cast<int64_t>(*v)) : Value(fallback);
  }
  if (value.as_string() == nullptr) return Value(fallback);
  const std::string text = strip_characters(*value.as_string(), nullptr, true, true);
  const size_t skip = text.starts_with('+') ? 1 : 0;
  int64_t number = 0;
  const auto read = std::from_chars(text.data() + skip, text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return Value(number);
  char* end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  const bool all = !text.empty() && end == text.c_str() + text.size();
  return all && std::isfinite(real) && std::fabs(real) < 9e18 ? Value(static_cast<int64_t>(real))
                                                              : Value(fallback);
}

Value to_float(V value, A arguments, W) {
  const Value* fallback = arguments.find(0, "default");
  const Value otherwise = fallback != nullptr ? *fallback : Value(0.0);
  if (const auto* v = value.get<double>()) return Value(*v);
  if (const auto* v = value.get<bool>()) return Value(*v ? 1.0 : 0.0);
  if (value.as_int() != nullptr) return Value(static_cast<double>(*value.as_int()));
  if (value.as_string() == nullptr) return otherwise;
  const std::string text = strip_characters(*value.as_string(), nullptr, true, true);
  char* end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() ? Value(real) : otherwise;
}

Value absolute(V value, A, W site) {
  if (const auto* v = value.get<double>()) return Value(std::fabs(*v));
  if (value.as_int() != nullptr) return *value.as_int() < 0 ? apply_sign("-", value, site) : value;
  site.fail("abs needs a number", value.repr());
}

Value round_number(V value, A arguments, W site) {
  const int64_t precision = int_argument(arguments, 0, "precision", 0, site);
  const std::string way = string_argument(arguments, 1, "method", "common", site);
  if (!value.is_number()) site.fail("round needs a number", value.repr());
  const Value real = to_float(value, {}, site);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *real.get<double>() * scale;
  const double rounded = way == "ceil"    ? std::ceil(scaled)
                         : way == "floor" ? std::floor(scaled)
                                          : std::nearbyint(scaled);
  return Value(rounded / scale);
}

Value indent(V value, A arguments, W site) {
  const Value* width = arguments.find(0, "width");
  std::string margin(4, ' ');
  if (width != nullptr && width->as_string() != nullptr) {
    margin = *width->as_string();
  } else if (width != nullptr) {
    const int64_t count = int_argument(arguments, 0, "width", 4, site);
    if (count > 10000) site.fail("indent: the width is too large");
    margin.assign(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
  }
  const bool first = bool_argument(arguments, 1, "first", false);
  const bool blank = bool_argument(arguments, 2, "blank", false);
  const std::string text = value.str();
  std::string out = first ? margin : "";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool empty_line = i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] == '\n' && (blank || (!empty_line && i + 1 < text.size()))) out += margin;
    check_size(out.size(), site);
  }
  return Value(std::move(out));
}

Value escape(V value, A, W) {
  std::string out;
  for (const char c : value.str()) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return Value(std::move(out));
}

/// Jinja's title: a word begins after white space, a dash or an opening bracket.
Value title(V value, A, W) {
  const std::string text = value.str();
  std::string out;
  bool start = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    const std::string character = text.substr(i, point.size);
    out += start ? to_upper(character) : to_lower(character);
    start = is_python_space(point.value) ||
            (point.value < 0x80 &&
             std::string_view("-({[<").find(static_cast<char>(point.value)) != std::string_view::npos);
    i += point.size;
  }
  return Value(std::move(out));
}

Value fallback(V value, A arguments, W) {
  const Value* otherwise = arguments.find(0, "default_value");
  const bool falsy_too = bool_argument(arguments, 1, "boolean", false);
  const bool keep = !value.is_undefined() && (!falsy_too || value.truthy());
  return keep ? value : otherwise != nullptr ? *otherwise : Value(std::string());
}

Value format(V value, A arguments, W site) {
  return apply_binary("%", Value(value.str()), Value::list(arguments.positional, true), site);
}

}  // namespace

void add_scalar_filters(FilterTable& table) {
  table["trim"] = [](V v, A a, W w) { return method(v, "strip", a, w); };
  table["upper"] = [](V v, A, W) { return Value(to_upper(v.str())); };
  table["lower"] = [](V v, A, W) { return Value(to_lower(v.str())); };
  table["capitalize"] = [](V v, A a, W w) { return method(v, "capitalize", a, w); };
  table["title"] = title;
  table["replace"] = [](V v, A a, W w) { return method(v, "replace", a, w); };
  table["string"] = [](V v, A, W) { return Value(v.str()); };
  table["safe"] = [](V v, A, W) { return v; };
  table["escape"] = escape;
  table["e"] = escape;
  table["tojson"] = tojson;
  table["int"] = to_int;
  table["float"] = to_float;
  table["abs"] = absolute;
  table["round"] = round_number;
  table["indent"] = indent;
  table["default"] = fallback;
  table["d"] = fallback;
  table["format"] = format;
}

}  // namespace verlc::text::jinja
