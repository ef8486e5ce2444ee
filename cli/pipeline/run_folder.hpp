// The folder of a run: <output_dir>/<name>, with metrics, rollouts, checkpoints and the exported model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace verlc::pipeline {

/// Paths alone; creates nothing.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path root) : root_(std::move(root)) {}
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path resolved_recipe() const { return root_ / "recipe.toml"; }
  [[nodiscard]] std::filesystem::path manifest() const { return root_ / "manifest.json"; }
  [[nodiscard]] std::filesystem::path rollouts() const { return root_ / "rollouts"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path checkpoint(uint64_t step) const {
    return checkpoints() / ("global_step_" + std::to_string(step));
  }
  [[nodiscard]] std::filesystem::path tracker() const {
    return checkpoints() / "latest_checkpointed_iteration.txt";
  }
  [[nodiscard]] std::filesystem::path exported() const { return root_ / "huggingface"; }

  /// Moves an earlier run out of the way to "<root>.1", "<root>.2", ... Returns where; empty when there was
  /// none.
  std::filesystem::path set_aside() const;

 private:
  std::filesystem::path root_;
};

/// One file of a checkpoint, as its manifest.json lists it.
struct ManifestEntry {
  std::string file;  ///< relative to the checkpoint
  uint64_t bytes = 0;
  std::string digest;  ///< XXH3-128
};

/// Hashes every file below `folder` and writes manifest.json there.
void write_manifest(const std::filesystem::path& folder);
/// What keeps a checkpoint from being whole: a missing manifest, or a file that is absent, short or altered.
/// Empty = whole.
std::string checkpoint_problem(const std::filesystem::path& folder);
/// The newest whole checkpoint below `checkpoints`, by number. Those that aren't whole are named in
/// `skipped`.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& checkpoints,
                                                       std::vector<std::string>* skipped);
/// N of ".../global_step_N"; Error(input) for another name.
uint64_t checkpoint_step(const std::filesystem::path& folder);

}  // namespace verlc::pipeline
