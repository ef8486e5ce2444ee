// What every command that takes a recipe accepts: the file, --set and --ranks.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/load.hpp"

namespace verlc {

struct RecipeOptions {
  std::string path;
  std::vector<std::string> overrides;
  std::optional<int64_t> ranks;
};

/// Declares RECIPE, --set and --ranks; `options` must outlive the parse.
void add_recipe_options(CLI::App& app, RecipeOptions& options);

/// The load options of a command line, with the names that this program knows.
LoadOptions load_options(const RecipeOptions& options);

}  // namespace verlc
