// Every key of a recipe in declared order, with what it accepts and its default: what the schema prints and
// what unknown keys are compared with.
#pragma once

#include <string>
#include <vector>

#include "recipe/field.hpp"

namespace verlc {

/// One key.
struct FieldInfo {
  std::string path;  ///< "actor.optim.lr"
  FieldSpec spec;
  std::string type;          ///< type_name
  std::string default_text;  ///< TOML of the default; empty when unset or required
  bool takes_text = false;   ///< --set takes it without quotes
  bool free_table = false;
};

/// One table.
struct SectionInfo {
  std::string path;
  std::string help;
};

struct RecipeIndex {
  std::vector<FieldInfo> fields;
  std::vector<SectionInfo> sections;

  [[nodiscard]] const FieldInfo* field(std::string_view path) const;
  [[nodiscard]] bool is_section(std::string_view path) const;
};

/// Walks a default Recipe.
RecipeIndex index_recipe();

/// A value as TOML; empty for an unset optional.
std::string toml_text(const FieldRef& value);
/// A string as a TOML basic string.
std::string toml_string(std::string_view text);

}  // namespace verlc
