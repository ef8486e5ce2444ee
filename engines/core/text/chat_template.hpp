// The chat template of a model: a conversation to the text that the model was trained on, byte for byte as
// the `transformers` library renders it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace verlc::text {

struct ChatOptions {
  bool add_generation_prompt = false;
  /// A list of function schemas; null for none.
  nlohmann::ordered_json tools = nullptr;
  /// Further variables of the template, an object, e.g. {"enable_thinking": false}.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  /// What strftime_now sees, seconds since 1970; the present when absent.
  std::optional<int64_t> now;
};

/// Immutable; any number of threads may render at once. Copies share one state.
class ChatTemplate {
 public:
  /// From chat_template.jinja of a model folder, else chat_template.json, else tokenizer_config.json (a
  /// string, or a list of named templates: "tool_use" serves calls with tools, "default" the others). The
  /// special tokens come from tokenizer_config.json. Error(input) when the folder has no template or one
  /// outside the supported subset.
  static ChatTemplate load(const std::filesystem::path& folder);

  /// True when load() would find a template.
  static bool exists(const std::filesystem::path& folder);

  /// From its source; `special_tokens` maps e.g. "bos_token" to a string. `name` stands in messages.
  static ChatTemplate from_string(std::string_view source, const nlohmann::ordered_json& special_tokens = {},
                                  std::string_view name = "chat template");

  /// Renders messages ([{"role": ..., "content": ...}, ...]). Keys of a message whose value is null count as
  /// absent. The text holds its special tokens: encode it with add_special_tokens = false. Error(input)
  /// naming the template's line when it refuses the conversation.
  [[nodiscard]] std::string render(const nlohmann::ordered_json& messages,
                                   const ChatOptions& options = {}) const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace verlc::text
