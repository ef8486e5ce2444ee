// From a recipe file to a Recipe that can run, or to everything that is wrong with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/problem.hpp"
#include "recipe/recipe.hpp"
#include "recipe/rule.hpp"

namespace verlc {

struct LoadOptions {
  std::vector<std::string> overrides;  ///< --set a.b=value, later ones win
  std::optional<int64_t> ranks;        ///< --ranks, wins over trainer.ranks
  KnownNames names;
  bool check_files = true;  ///< false: syntax, types and ranges only (`recipe show`)
};

/// A recipe with what was found about it. With problems, the fields concerned hold their defaults.
struct LoadedRecipe {
  Recipe recipe;
  std::vector<Problem> problems;   ///< sorted by file and line
  std::vector<std::string> notes;  ///< "key: remark"
};

/// Reads, resolves and checks. No weight is read and no process started. Throws Error(input) only when the
/// file itself can't be read.
LoadedRecipe inspect_recipe(const std::filesystem::path& path, const LoadOptions& options);

/// The same for TOML text that stands for `path`.
LoadedRecipe inspect_recipe_text(std::string_view text, const std::filesystem::path& path,
                                 const LoadOptions& options);

/// A recipe without problems, or Error(input) that tells all of them. `notes`, when given, receives the
/// remarks.
Recipe load_recipe(const std::filesystem::path& path, const LoadOptions& options,
                   std::vector<std::string>* notes = nullptr);

}  // namespace verlc
