// Filters, tests, methods and operators of the template language.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/text/jinja_value.hpp"

namespace verlc::text::jinja {

using Filter = Value (*)(const Value& input, const Arguments& arguments, const Site& site);
using Test = bool (*)(const Value& input, const Arguments& arguments, const Site& site);

/// nullptr when there is no filter / test of that name.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
/// All names, for messages.
std::string filter_names();
std::string test_names();

/// Calls a method of a string, dict or list; nothing when the type has no such method.
std::optional<Value> call_method(const Value& self, std::string_view name, const Arguments& arguments,
                                 const Site& site);
/// True when call_method knows the method.
bool has_method(const Value& self, std::string_view name);

/// `base.name`: a method, else an entry, else undefined. Fails at `site` on an undefined base.
Value get_attribute(const Value& base, const std::string& name, const Site& site);
/// `base[key]`: an element, else an attribute, else undefined. Fails at `site` on an undefined base.
Value get_item(const Value& base, const Value& key, const Site& site);
/// `base[start:stop:step]`; undefined and none parts are absent.
Value get_slice(const Value& base, const Value& start, const Value& stop, const Value& step,
                const Site& site);

/// + - * / // % ** ~ as Python has them.
Value apply_binary(std::string_view op, const Value& left, const Value& right, const Site& site);
/// + and - in front of a number.
Value apply_sign(std::string_view op, const Value& value, const Site& site);
/// == != < <= > >= in, not in.
bool apply_comparison(std::string_view op, const Value& left, const Value& right, const Site& site);

/// The string argument at `index` or called `name`, or `fallback`; fails at `site` for another type.
std::string string_argument(const Arguments& arguments, size_t index, std::string_view name,
                            const std::string& fallback, const Site& site);
/// The same for an integer.
int64_t int_argument(const Arguments& arguments, size_t index, std::string_view name, int64_t fallback,
                     const Site& site);
/// The same for a truth value of any type.
bool bool_argument(const Arguments& arguments, size_t index, std::string_view name, bool fallback);

/// `text` without the characters `which` (white space when nothing) at the sides asked for.
std::string strip_characters(const std::string& text, const std::string* which, bool left, bool right);

/// Fails at `site` when a result of `size` bytes or elements is too large.
void check_size(size_t size, const Site& site);

}  // namespace verlc::text::jinja
