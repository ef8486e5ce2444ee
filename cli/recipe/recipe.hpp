// The recipe: everything a run is told, typed. Sections own their fields; this file only joins them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "recipe/sections/actor.hpp"
#include "recipe/sections/algorithm.hpp"
#include "recipe/sections/data.hpp"
#include "recipe/sections/model.hpp"
#include "recipe/sections/plugins.hpp"
#include "recipe/sections/ref.hpp"
#include "recipe/sections/reward.hpp"
#include "recipe/sections/rollout.hpp"
#include "recipe/sections/trainer.hpp"

namespace verlc {

/// A plain value. After load_recipe every derived field is filled in and every path is absolute.
struct Recipe {
  std::string name;                    ///< names the run's folder; the recipe file's stem when not given
  std::string output_dir = "outputs";  ///< the run writes into <output_dir>/<name>
  int64_t seed = 1;                    ///< of every random stream without a seed of its own

  ModelSection model;
  DataSection data;
  AlgorithmSection algorithm;
  ActorSection actor;
  RefSection ref;
  RolloutSection rollout;
  RewardSection reward;
  TrainerSection trainer;
  PluginsSection plugins;

  void fields(FieldVisitor& visitor);
  bool operator==(const Recipe&) const = default;

  [[nodiscard]] bool is_sft() const { return algorithm.name == "sft"; }
  /// A KL term with a coefficient above 0 in the loss, in the reward.
  [[nodiscard]] bool has_kl_loss() const { return actor.use_kl_loss && actor.kl_loss_coef > 0; }
  [[nodiscard]] bool has_kl_in_reward() const {
    return algorithm.use_kl_in_reward && algorithm.kl_ctrl.kl_coef > 0;
  }
  /// Whether a reference policy is needed (a KL term with a coefficient above 0).
  [[nodiscard]] bool needs_reference() const;
  /// <output_dir>/<name>
  [[nodiscard]] std::filesystem::path run_folder() const;
};

/// The resolved recipe as TOML with every key; loading it gives an equal Recipe.
std::string dump_recipe(const Recipe& recipe);
/// XXH3-128 of dump_recipe, 32 hexadecimal digits; equal on all ranks of a job.
std::string hash_recipe(const Recipe& recipe);

}  // namespace verlc
