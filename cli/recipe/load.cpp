#include "recipe/load.hpp"

#include "recipe/reader.hpp"

namespace verlc {
namespace {

TextFields text_fields(const RecipeIndex& index) {
  TextFields fields;
  for (const FieldInfo& field : index.fields) fields[field.path] = field.takes_text;
  return fields;
}

std::vector<std::string> all_overrides(const LoadOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.ranks) overrides.push_back("trainer.ranks=" + std::to_string(*options.ranks));
  return overrides;
}

LoadedRecipe inspect(const Document& document, const std::filesystem::path& path, const RecipeIndex& index,
                     const LoadOptions& options, Problems& problems) {
  LoadedRecipe loaded;
  // A syntax fault hides an unknown part of the recipe, so nothing more can be said about it.
  if (problems.empty()) {
    find_unknown_keys(document, index, problems);
    read_fields(document, loaded.recipe, problems);
    finish_recipe(path, problems, loaded.recipe);
    if (options.check_files) check_rules(loaded.recipe, options.names, problems);
  }
  loaded.problems = problems.sorted();
  loaded.notes = problems.notes();
  return loaded;
}

}  // namespace

LoadedRecipe inspect_recipe(const std::filesystem::path& path, const LoadOptions& options) {
  const RecipeIndex index = index_recipe();
  Problems problems;
  const Document document = read_document(path, all_overrides(options), text_fields(index), problems);
  return inspect(document, path, index, options, problems);
}

LoadedRecipe inspect_recipe_text(std::string_view text, const std::filesystem::path& path,
                                 const LoadOptions& options) {
  const RecipeIndex index = index_recipe();
  Problems problems;
  const Document document =
      read_document_text(text, path, all_overrides(options), text_fields(index), problems);
  return inspect(document, path, index, options, problems);
}

Recipe load_recipe(const std::filesystem::path& path, const LoadOptions& options,
                   std::vector<std::string>* notes) {
  LoadedRecipe loaded = inspect_recipe(path, options);
  if (!loaded.problems.empty()) fail_input(problems_as_error(path.string(), loaded.problems));
  if (notes != nullptr) *notes = std::move(loaded.notes);
  return std::move(loaded.recipe);
}

}  // namespace verlc
