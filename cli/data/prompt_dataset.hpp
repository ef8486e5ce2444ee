// Rows to generate from, in verl's schema: prompt, data_source, reward_model.ground_truth, extra_info.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/json_line.hpp"

namespace verlc {

/// One row. Either `messages` is a list of {role, content}, or it is null and `text` is the whole prompt.
struct PromptRow {
  RowPlace place{};
  OrderedJson messages{};
  std::string text{};
  OrderedJson tools{};              ///< list of objects, or null
  std::string data_source{};        ///< "" when absent
  nlohmann::json ground_truth{};    ///< null when absent
  std::string ground_truth_text{};  ///< the same exactly as the file has it, "" when absent
  nlohmann::json extra_info = nlohmann::json::object();
  std::string extra_info_text = "{}";
};
using PromptDataset = Dataset<PromptRow>;

/// What rows must hold.
struct PromptSchema {
  std::string prompt_key = "prompt";  ///< recipe key data.prompt_key
  bool require_label = true;          ///< reward_model.ground_truth, any JSON but null
  bool require_data_source = true;    ///< needed when scorers are chosen by it
  int64_t max_samples = -1;           ///< rows kept, in file order; -1 keeps all. Every row is still checked
};

/// Reads and checks whole files before anything else is touched. Error(input) "file:line: key: what" for the
/// first broken row of a file, with up to 5 more; also for a file without rows.
PromptDataset load_prompts(std::span<const std::filesystem::path> files, const PromptSchema& schema);

/// Rows of one text, as load_prompts; `name` stands for the file in messages.
std::vector<PromptRow> parse_prompts(std::string_view bytes, const std::string& name,
                                     const PromptSchema& schema);

}  // namespace verlc
