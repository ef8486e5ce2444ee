// A model folder and prompts made up for a benchmark: real shapes, no checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "core/models/model_config.hpp"

namespace verlc::bench {

/// A new folder for the life of this object: config.json with the shapes of --model (or SmolLM2-135M's, or
/// tiny ones) and no end of sequence, so that responses have full length, and a tokenizer of as many words
/// whose tokens are single letters in prompts.
class BenchModel {
 public:
  explicit BenchModel(const BenchOptions& options);
  BenchModel(const BenchModel&) = delete;
  BenchModel& operator=(const BenchModel&) = delete;
  ~BenchModel();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::string path() const { return folder_.string(); }
  [[nodiscard]] const ModelConfig& config() const { return config_; }
  /// `tokens` letters, each one token; another text for each `number`.
  [[nodiscard]] static std::string prompt(uint64_t number, int64_t tokens);
  /// Ids in the vocabulary; another list for each `number`.
  [[nodiscard]] std::vector<int32_t> prompt_ids(uint64_t number, int64_t tokens) const;

 private:
  std::filesystem::path folder_;
  ModelConfig config_;
};

}  // namespace verlc::bench
