#include "pipeline/train.hpp"

#include <fmt/format.h>

#include "pipeline/grpo_trainer.hpp"
#include "pipeline/sft_trainer.hpp"

namespace verlc::pipeline {

int train(const Recipe& recipe, Session& session) {
  session.cancel().install_handlers();
  const std::string line = preflight(session.rank(), VERLC_VERSION, hash_recipe(recipe));
  if (session.is_root()) {
    fmt::print("{}: {}\n", recipe.name, line);
    std::fflush(stdout);
  }
  session.world().set_time_limit(std::chrono::seconds(recipe.trainer.comm_timeout_s));
  if (recipe.is_sft()) return SftTrainer(recipe, session).run();
  return GrpoTrainer(recipe, session).run();
}

}  // namespace verlc::pipeline
