// verlc check: every problem of a recipe at once, without reading a weight or starting a process.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "commands/command.hpp"
#include "commands/support/recipe_options.hpp"
#include "core/models/model_config.hpp"

namespace verlc {
namespace {

int check(const RecipeOptions& options) {
  std::vector<std::string> notes;
  const Recipe recipe = load_recipe(options.path, load_options(options), &notes);
  read_model_config(
      recipe.model.path);  // refuses what the model code can't do, such as an unknown rope scaling
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print("{}: ok ({}, {} ranks, recipe {})\n", options.path, recipe.algorithm.name, recipe.trainer.ranks,
             hash_recipe(recipe).substr(0, 12));
  return exit_done;
}

}  // namespace

void command_check(CommandRegistry& registry) {
  const auto options = std::make_shared<RecipeOptions>();
  CLI::App& app = registry.add("check", "tell all problems of a recipe, without reading weights",
                               [options] { return check(*options); });
  add_recipe_options(app, *options);
}

}  // namespace verlc
