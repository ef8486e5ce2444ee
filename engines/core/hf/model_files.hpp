// The files that stand beside a model's weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hf/json_value.hpp"

namespace verlc::hf {

/// A Hugging Face model folder. Reads nothing until asked.
class ModelFolder {
 public:
  /// Error(input) when it is no folder or has no config.json.
  explicit ModelFolder(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path file(std::string_view name) const { return folder_ / name; }
  [[nodiscard]] bool has(std::string_view name) const;

  [[nodiscard]] std::filesystem::path config_file() const { return file("config.json"); }
  /// config.json, an object.
  [[nodiscard]] Json config() const;
  /// generation_config.json and tokenizer_config.json, objects; empty when the file is absent.
  [[nodiscard]] std::optional<Json> generation_config() const;
  [[nodiscard]] std::optional<Json> tokenizer_config() const;
  /// The path of tokenizer.json; Error(input) when it is absent, saying which other tokenizer file is there.
  [[nodiscard]] std::filesystem::path tokenizer_file() const;
  /// The chat template's source: chat_template.jinja, else "chat_template" of chat_template.json, else of
  /// tokenizer_config.json (a string, or the one named "default" of a list). Empty when there is none.
  [[nodiscard]] std::optional<std::string> chat_template() const;
  /// The union of eos_token_id (an integer, a list or null) of config.json, its text_config, and
  /// generation_config.json: sorted, each once. The tokenizer's own end token is the caller's to add.
  [[nodiscard]] std::vector<int64_t> eos_token_ids() const;

 private:
  [[nodiscard]] std::optional<Json> optional_object(std::string_view name) const;

  std::filesystem::path folder_;
};

}  // namespace verlc::hf
