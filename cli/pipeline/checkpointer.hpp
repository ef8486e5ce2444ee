// Checkpoints of a run: written aside, hashed, fsynced, renamed; and the state to resume from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "host/train_engine.hpp"
#include "pipeline/run_folder.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"

namespace verlc::pipeline {

class Checkpointer {
 public:
  /// `recipe` and `session` must outlive this object.
  Checkpointer(const Recipe& recipe, Session& session);

  /// Saves the actor with its moments and `state` as step `step`; afterwards it is the latest. Collective. An
  /// error leaves the earlier checkpoints as they are.
  void save(uint64_t step, TrainEngine& actor, const nlohmann::json& state);
  /// The checkpoint that trainer.resume_mode asks for; none = start anew (with "disable" an earlier run is
  /// moved aside). Collective: every rank gets rank 0's answer.
  std::optional<std::filesystem::path> find_resume();
  /// Loads the actor from a checkpoint and returns its state. Collective.
  nlohmann::json load(const std::filesystem::path& folder, TrainEngine& actor);
  /// Writes the actor's weights as a Hugging Face folder; collective, rank 0 writes. The type of the weights
  /// is that of the model's config.json.
  void export_model(TrainEngine& actor, const std::filesystem::path& folder);
  [[nodiscard]] const RunFolder& folder() const { return folder_; }

 private:
  std::string resume_by_root();
  void prune(uint64_t newest) const;

  const Recipe& recipe_;
  Session& session_;
  RunFolder folder_;
};

/// Writes an engine's weights as a Hugging Face folder beside the files of `model`. Collective over the
/// engine; only the rank with `write` touches the disk.
void export_weights(TrainEngine& engine, const std::filesystem::path& model,
                    const std::filesystem::path& folder, bool write);

}  // namespace verlc::pipeline
