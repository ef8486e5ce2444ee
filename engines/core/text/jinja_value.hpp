// Values of the template language: what Python objects are to Jinja, as far as chat templates use them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace verlc::text::jinja {

using OrderedJson = nlohmann::ordered_json;

/// Where in a template something happens. Every fault of a template is an Error(input) that names it.
struct Site {
  std::string_view name;
  int line = 1;
  [[noreturn]] void fail(const std::string& what, const std::string& value = {}) const;
};

/// No value may grow beyond this many bytes or elements.
inline constexpr size_t kMostSize = size_t{64} << 20;

class Value;
struct List;
struct Dict;
struct Namespace;
struct Callable;

struct Undefined {
  std::string name;  ///< what was looked for, for messages
};
struct None {};

/// A value. Containers are shared and never change, apart from namespaces.
class Value {
 public:
  using Storage =
      std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<const List>,
                   std::shared_ptr<const Dict>, std::shared_ptr<Namespace>, std::shared_ptr<const Callable>>;

  Value() = default;
  Value(Storage storage) : storage_(std::move(storage)) {}  // NOLINT: a value is its storage
  static Value list(std::vector<Value> items, bool is_tuple = false);
  static Value dict(std::vector<std::pair<Value, Value>> items);
  static Value from_json(const OrderedJson& json);

  template <typename T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&storage_);
  }
  [[nodiscard]] bool is_undefined() const { return get<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return get<None>() != nullptr; }
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] const std::string* as_string() const { return get<std::string>(); }
  [[nodiscard]] const List* as_list() const;
  [[nodiscard]] const Dict* as_dict() const;
  [[nodiscard]] Namespace* as_namespace() const;
  [[nodiscard]] const Callable* as_callable() const;
  /// A bool, or an int: what Python accepts as an index.
  [[nodiscard]] const int64_t* as_int() const { return get<int64_t>(); }

  /// Python's bool(x).
  [[nodiscard]] bool truthy() const;
  /// Python's type name, for messages.
  [[nodiscard]] std::string type_name() const;
  /// Python's str(x); undefined is empty.
  [[nodiscard]] std::string str() const;
  /// Python's repr(x).
  [[nodiscard]] std::string repr() const;

 private:
  Storage storage_;
};

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;  ///< in order of insertion, keys apart
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
};

/// The one kind of value that a template may change.
struct Namespace {
  std::vector<std::pair<std::string, Value>> items;
  [[nodiscard]] Value* find(std::string_view key);
  void set(std::string_view key, Value value);
};

/// Arguments of a call, a filter or a test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `index` or called `name`; nullptr when absent.
  [[nodiscard]] const Value* find(size_t index, std::string_view name) const;
};

struct Callable {
  std::string name;
  std::function<Value(const Arguments&, const Site&)> call;
};

/// Python's a == b.
bool equals(const Value& a, const Value& b);
/// Python's a < b; fails at `site` for types without an order.
bool less(const Value& a, const Value& b, const Site& site);
/// Python's `needle in haystack`.
bool contains(const Value& haystack, const Value& needle, const Site& site);
/// The elements that a loop over `value` sees; fails at `site` when it is not iterable.
std::vector<Value> iterate(const Value& value, const Site& site);
/// Python's len(x).
int64_t length(const Value& value, const Site& site);

/// Python's repr of a float: shortest digits that read back, "1.0", "1e-05".
std::string repr_of(double number);

/// json.dumps(value, ensure_ascii, indent, separators, sort_keys); indent < 0 writes one line.
struct JsonStyle {
  bool ensure_ascii = false;
  int indent = -1;
  bool sort_keys = false;
  std::string item_separator;  ///< empty: Python's default for the indent
  std::string key_separator;
};
std::string to_json(const Value& value, const JsonStyle& style, const Site& site);

/// White space as Python's str.isspace() and strip() see it.
bool is_python_space(char32_t c);

}  // namespace verlc::text::jinja
