// verlc recipe show, verlc recipe schema.
#include <cstdio>
#include <memory>

#include "commands/command.hpp"
#include "commands/support/recipe_options.hpp"
#include "recipe/schema.hpp"

namespace verlc {
namespace {

int print(const std::string& text) {
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!whole) fail_run({.what = "cannot write the output", .where = "stdout", .value = "", .fix = ""});
  return exit_done;
}

int show(const RecipeOptions& options) {
  LoadOptions load = load_options(options);
  load.check_files = false;
  return print(dump_recipe(load_recipe(options.path, load)));
}

struct SchemaOptions {
  std::string under;
  bool json = false;
};

int schema(const SchemaOptions& options) {
  const RecipeIndex index = index_recipe();
  return print(options.json ? schema_json(index, options.under) : schema_text(index, options.under));
}

}  // namespace

void command_recipe(CommandRegistry& registry) {
  CLI::App& group = registry.group("recipe", "look at recipes");
  const auto show_options = std::make_shared<RecipeOptions>();
  CLI::App& show_app = registry.add(
      "show", "print a recipe with every key resolved, as TOML",
      [show_options] { return show(*show_options); }, &group);
  add_recipe_options(show_app, *show_options);
  const auto schema_options = std::make_shared<SchemaOptions>();
  CLI::App& schema_app = registry.add(
      "schema", "print every key: type, default, range, meaning",
      [schema_options] { return schema(*schema_options); }, &group);
  schema_app.add_option("key", schema_options->under, "only this section or key");
  schema_app.add_flag("--json", schema_options->json, "as JSON");
}

}  // namespace verlc
