// Rows to learn from by imitation: a whole conversation, or a prompt and its response.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/json_line.hpp"

namespace verlc {

/// One row. With `messages` (a list of {role, content}) the assistant's turns are learned. Without (null),
/// `text` or `prompt_messages` (null, or a list) is the prompt and `response` is learned.
struct SftRow {
  RowPlace place{};
  OrderedJson messages{};
  OrderedJson prompt_messages{};
  std::string text{};
  std::string response{};
  OrderedJson tools{};  ///< list of objects, or null
};
using SftDataset = Dataset<SftRow>;

/// Recipe keys under `data`.
struct SftSchema {
  std::string messages_key = "messages";
  std::string prompt_key = "prompt";
  std::string response_key = "response";
  int64_t max_samples = -1;
};

/// As load_prompts; a conversation needs an assistant message with text.
SftDataset load_sft(std::span<const std::filesystem::path> files, const SftSchema& schema);

/// Rows of one text, as load_sft; `name` stands for the file in messages.
std::vector<SftRow> parse_sft(std::string_view bytes, const std::string& name, const SftSchema& schema);

}  // namespace verlc
