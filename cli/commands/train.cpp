// verlc train: runs a recipe on its ranks.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "commands/command.hpp"
#include "commands/support/recipe_options.hpp"
#include "launch/launch.hpp"
#include "pipeline/train.hpp"

namespace verlc {
namespace {

struct TrainOptions : RecipeOptions {
  bool verbose = false;
};

std::vector<std::string> rank_arguments(const TrainOptions& options) {
  std::vector<std::string> argv = {"verlc", "train", options.path};
  for (const std::string& override : options.overrides) argv.insert(argv.end(), {"--set", override});
  if (options.ranks) argv.insert(argv.end(), {"--ranks", std::to_string(*options.ranks)});
  if (options.verbose) argv.emplace_back("--verbose");
  return argv;
}

int train(const TrainOptions& options) {
  std::vector<std::string> notes;
  const Recipe recipe = load_recipe(options.path, load_options(options), &notes);
  if (!inside_launcher())
    for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  const int ranks = static_cast<int>(recipe.trainer.ranks);
  if (needs_launch(ranks)) {
    LaunchOptions launch;
    launch.ranks = ranks;
    launch.oversubscribe = recipe.trainer.oversubscribe;
    return launch_ranks(launch, rank_arguments(options));
  }
  pipeline::SessionOptions session_options = pipeline::session_options(recipe);
  session_options.print_startup = options.verbose;
  pipeline::Session session(session_options);
  return run_rank(session.rank(), [&] { return pipeline::train(recipe, session); });
}

}  // namespace

void command_train(CommandRegistry& registry) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App& app = registry.add("train", "run a recipe: SFT or reinforcement learning",
                               [options] { return train(*options); });
  add_recipe_options(app, *options);
  app.add_flag("-v,--verbose", options->verbose, "tell where the time goes until the first result");
}

}  // namespace verlc
