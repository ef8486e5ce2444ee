// Fills a recipe from its document and says what does not fit.
#pragma once

#include "recipe/document.hpp"
#include "recipe/index.hpp"
#include "recipe/recipe.hpp"

namespace verlc {

/// Reads every field of `recipe` from the topmost layer that gives it; wrong types, values out of range and
/// missing required keys become problems and leave the default in place.
void read_fields(const Document& document, Recipe& recipe, Problems& problems);

/// Adds a problem for every key of the document that no field reads.
void find_unknown_keys(const Document& document, const RecipeIndex& index, Problems& problems);

/// What to write instead of the unknown key `path`; never empty.
std::string suggest_key(const std::string& path, const RecipeIndex& index);

/// Fills in what is derived from other keys (see the comments of the sections). `path` names the recipe file;
/// `problems` knows which keys are given.
void finish_recipe(const std::filesystem::path& path, const Problems& problems, Recipe& recipe);

}  // namespace verlc
