#include "commands/support/recipe_options.hpp"

#include "commands/support/known_names.hpp"

namespace verlc {

void add_recipe_options(CLI::App& app, RecipeOptions& options) {
  app.add_option("recipe", options.path, "recipe file (TOML)")->required();
  app.add_option("--set", options.overrides, "section.key=value, wins over the recipe; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--ranks", options.ranks, "processes of the job; wins over trainer.ranks")->type_name("N");
}

LoadOptions load_options(const RecipeOptions& options) {
  LoadOptions load;
  load.overrides = options.overrides;
  load.ranks = options.ranks;
  load.names = known_names();
  return load;
}

}  // namespace verlc
