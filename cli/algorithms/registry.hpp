// A list of units found by name. Units add themselves through the generated register_*_all functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace verlc {

/// Joins names as "a, b, c".
std::string join_names(const std::vector<std::string>& names);

/// The input error for a name that is not among `valid`: lists the valid names and the nearest ones.
/// `where` is the recipe key that held the name, `noun` what it should have named ("advantage estimator").
[[noreturn]] void fail_unknown_name(std::string_view where, std::string_view noun, const std::string& name,
                                    const std::vector<std::string>& valid);

/// Units of one kind. Built once, then read-only; reading from several threads is safe. `Unit` has a member
/// `name` (anything that converts to std::string).
template <typename Unit>
class Registry {
 public:
  explicit Registry(std::string noun) : noun_(std::move(noun)) {}

  /// Two units of one name are a bug of ours and stop the process.
  void add(Unit unit) {
    for (const Unit& other : units_)
      check(std::string(other.name) != std::string(unit.name), "unit names are unique in a registry");
    units_.push_back(std::move(unit));
  }

  /// The unit called `name`; Error(input) naming the key `where`, the valid names and the nearest otherwise.
  [[nodiscard]] const Unit& find(const std::string& name, std::string_view where) const {
    for (const Unit& unit : units_)
      if (std::string(unit.name) == name) return unit;
    fail_unknown_name(where, noun_, name, names());
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const Unit& unit : units_) list.emplace_back(unit.name);
    return list;
  }

  /// The unit called `name`, or null.
  [[nodiscard]] const Unit* look_up(std::string_view name) const {
    for (const Unit& unit : units_)
      if (std::string_view(unit.name) == name) return &unit;
    return nullptr;
  }

  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

 private:
  std::string noun_;
  std::vector<Unit> units_;
};

/// Names of all units; they live as long as the process.
template <typename Unit>
std::vector<std::string_view> name_views(const Registry<Unit>& registry) {
  std::vector<std::string_view> names;
  for (const Unit& unit : registry.units()) names.push_back(unit.name);
  return names;
}

/// "a: what a is; b: ..." of units that have a `help`.
template <typename Unit>
std::string describe_units(const Registry<Unit>& registry) {
  std::string text;
  for (const Unit& unit : registry.units()) {
    if (!text.empty()) text += "; ";
    text += std::string(unit.name) + ": " + std::string(unit.help);
  }
  return text;
}

}  // namespace verlc
