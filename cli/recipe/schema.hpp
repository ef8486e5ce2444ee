// The recipe's schema, for people and for programs.
#pragma once

#include <string>

#include "recipe/index.hpp"

namespace verlc {

/// Every key at or under the dotted path `under` (all when empty): type, default, range or legal values,
/// meaning. Throws Error(input) with the nearest name when `under` is neither a section nor a key.
std::string schema_text(const RecipeIndex& index, const std::string& under);
/// The same as a JSON array of {key, type, required, default, unset, choices, min, max, ..., help}.
std::string schema_json(const RecipeIndex& index, const std::string& under);

}  // namespace verlc
