// One field of a recipe section: its name, type, range, meaning. A section lists its fields once; reading,
// the resolved dump, the schema and the help pages are visitors of that list.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace verlc {

/// A number of bytes; in TOML an integer or a string such as "512MiB" (kB, MB, GB, KiB, MiB, GiB, B).
struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

/// A table whose keys belong to someone else (a chat template, a plugin). Always a JSON object.
struct FreeTable {
  nlohmann::json json = nlohmann::json::object();
  bool operator==(const FreeTable&) const = default;
};

/// How a string that names a file is resolved.
enum class PathKind {
  none,    ///< not a path
  input,   ///< relative to the recipe's folder if it exists there, else to the working folder
  output,  ///< relative to the working folder
  plugin,  ///< an input path when it holds '/' or ends in ".so", else a plugin's id
};

/// What a field accepts and means. Ranges hold for each element of a list.
struct FieldSpec {
  std::string_view key{};
  bool required = false;
  std::optional<double> min{};
  std::optional<double> max{};
  bool above_min = false;                   ///< min itself is not legal
  bool below_max = false;                   ///< max itself is not legal
  std::vector<std::string_view> choices{};  ///< legal strings, or legal integers written as text
  std::string_view choice_reason{};         ///< why nothing else is legal
  size_t length = 0;                        ///< exact number of list elements; 0 = any
  int64_t multiple_of = 0;
  PathKind path = PathKind::none;
  bool scalars_only = false;  ///< FreeTable: no nested values
  std::string_view unset{};   ///< what an optional field without a value means
  std::string_view help{};
};

/// Where a field's value lives. Optionals are fields that may stay unset; lists of strings accept a single
/// string.
using FieldRef = std::variant<bool*, int64_t*, double*, std::string*, ByteSize*, FreeTable*,
                              std::optional<bool>*, std::optional<int64_t>*, std::optional<double>*,
                              std::vector<std::string>*, std::vector<double>*>;

/// Walks the fields of a recipe in their declared order.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  /// One leaf. `value` outlives the call only as long as the section does.
  virtual void field(FieldRef value, const FieldSpec& spec) = 0;

  /// A nested table; `Section` has `void fields(FieldVisitor&)`.
  template <class Section>
  void section(Section& section, std::string_view name, std::string_view help) {
    enter(name, help);
    section.fields(*this);
    leave(name);
  }

 protected:
  virtual void enter(std::string_view name, std::string_view help) = 0;
  virtual void leave(std::string_view name) = 0;
};

/// "integer", "list of strings", ...: the type as users read it.
std::string type_name(const FieldRef& value);
/// "[0, 1), a multiple of 16"; empty when any value is legal.
std::string range_text(const FieldSpec& spec);
/// Whether a number lies between min and max (multiple_of is not looked at).
bool in_range(double value, const FieldSpec& spec);
/// "a | b | c"; empty without choices.
std::string choices_text(const FieldSpec& spec);

}  // namespace verlc
