#include "recipe/recipe.hpp"

#include "core/base/hash.hpp"

namespace verlc {

void Recipe::fields(FieldVisitor& v) {
  v.field(&name, {.key = "name", .unset = "the recipe file's stem", .help = "names the run's folder"});
  v.field(&output_dir,
          {.key = "output_dir", .path = PathKind::output, .help = "the run writes into <output_dir>/<name>"});
  v.field(&seed, {.key = "seed", .min = 0, .help = "seed of every random stream without a seed of its own"});
  v.section(model, "model", "which checkpoint is trained");
  v.section(data, "data", "rows in, prompts out");
  v.section(algorithm, "algorithm", "what is optimised");
  v.section(actor, "actor", "the policy's update");
  v.section(ref, "ref", "the reference policy, used only when a KL term is on");
  v.section(rollout, "rollout", "sampling");
  v.section(reward, "reward", "who scores a response");
  v.section(trainer, "trainer", "how long, how often, on how many ranks");
  v.section(plugins, "plugins", "engines and rewards from outside the installation");
}

bool Recipe::needs_reference() const {
  return !is_sft() && (has_kl_loss() || has_kl_in_reward());
}

std::filesystem::path Recipe::run_folder() const {
  return std::filesystem::path(output_dir) / name;
}

std::string hash_recipe(const Recipe& recipe) {
  Digest digest;
  digest.update(dump_recipe(recipe));
  return digest.hex();
}

}  // namespace verlc
