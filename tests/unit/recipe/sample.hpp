// A folder with a small model, data and recipes for the recipe tests.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/base/file.hpp"
#include "recipe/load.hpp"

namespace verlc {

/// Creates the folder and removes it again.
class Sample {
 public:
  Sample()
      : folder_(std::filesystem::temp_directory_path() / ("verlc_recipe_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_ / "model");
    write(
        "model/config.json",
        R"({"architectures":["LlamaForCausalLM"],"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,)"
        R"("num_key_value_heads":2,"vocab_size":64,"max_position_embeddings":4096})");
    write("model/tokenizer.json", "{}");
    write("model/model.safetensors", "x");
    write("train.jsonl", "{}\n");
    write("val.jsonl", "{}\n");
    write("reward.so", "x");
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { write_file(folder_ / name, text); }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  /// The smallest legal recipe followed by `more`.
  [[nodiscard]] static std::string text(const std::string& more = "") {
    return "model.path = \"model\"\ndata.train_files = \"train.jsonl\"\ndata.train_batch_size = 32\n" + more;
  }

  [[nodiscard]] static KnownNames names() {
    return {{"LlamaForCausalLM", "Qwen3ForCausalLM"}, {"exact", "gsm8k", "math"}, {"fsdp"}, {"rollout"}};
  }

  [[nodiscard]] LoadedRecipe load(const std::string& toml, const std::vector<std::string>& sets = {}) const {
    LoadOptions options;
    options.overrides = sets;
    options.names = names();
    return inspect_recipe_text(toml, path("r.toml"), options);
  }

  /// Keys of the problems of the smallest recipe with overrides.
  [[nodiscard]] std::vector<std::string> keys(const std::vector<std::string>& sets) const {
    std::vector<std::string> found;
    for (const Problem& problem : load(text(), sets).problems) found.push_back(problem.key);
    return found;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace verlc
