// Rollout dumps: what was asked, answered and scored in one step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

namespace verlc {

/// One response.
struct RolloutRecord {
  std::string input{};
  std::string output{};                              ///< any bytes; what is no UTF-8 is replaced in the file
  std::string ground_truth_text = "null";            ///< the label as JSON, written verbatim
  std::optional<double> score{};                     ///< none: null, with the reason in `extras`
  nlohmann::json extras = nlohmann::json::object();  ///< further members, e.g. acc, pred, error
};

/// Writes `<folder>/<step>.jsonl` (`<step>.rank<r>.jsonl` when there are several ranks) whole or not at all;
/// creates the folder. Members: input, output, gts, score, step, then the extras. Returns the path.
/// Error(run) names it.
std::filesystem::path write_rollouts(const std::filesystem::path& folder, uint64_t step, size_t rank,
                                     size_t num_ranks, std::span<const RolloutRecord> records);

}  // namespace verlc
