#include "data/prompt_dataset.hpp"

#include "data/jsonl.hpp"
#include "data/load_files.hpp"
#include "data/messages.hpp"

namespace verlc {
namespace {

bool read_prompt(const OrderedJson& row, size_t line, const std::string& key, PromptRow& out,
                 RowProblems& problems) {
  const OrderedJson& prompt = member_or_null(row, key);
  if (prompt.is_null()) {
    problems.add(line, key, "is missing", "", "give a list of messages, or text");
    return false;
  }
  if (prompt.is_string()) {
    out.text = prompt.get<std::string>();
    if (out.text.empty()) problems.add(line, key, "must not be empty");
    return !out.text.empty();
  }
  if (!check_messages(prompt, line, key, problems)) return false;
  out.messages = prompt;
  return true;
}

bool read_data_source(const OrderedJson& row, size_t line, bool required, PromptRow& out,
                      RowProblems& problems) {
  const OrderedJson& source = member_or_null(row, "data_source");
  if (source.is_string()) {
    out.data_source = source.get<std::string>();
    return true;
  }
  if (source.is_null() && !required) return true;
  problems.add(line, "data_source", source.is_null() ? "is missing" : "must be a string", "",
               "name the row's origin, or the scorer with reward.name");
  return false;
}

bool read_label(const OrderedJson& row, std::string_view text, size_t line, bool required, PromptRow& out,
                RowProblems& problems) {
  const OrderedJson& model = member_or_null(row, "reward_model");
  if (!model.is_null() && !model.is_object()) {
    problems.add(line, "reward_model", "must be an object", shown_json(model));
    return false;
  }
  if (model.is_null() || member_or_null(model, "ground_truth").is_null()) {
    if (required)
      problems.add(line, "reward_model.ground_truth", "is missing", "",
                   "give the label that the reward compares with");
    return !required;
  }
  out.ground_truth_text = *member_text(*member_text(text, "reward_model"), "ground_truth");
  out.ground_truth = nlohmann::json::parse(out.ground_truth_text);
  return true;
}

bool read_extra_info(const OrderedJson& row, std::string_view text, size_t line, PromptRow& out,
                     RowProblems& problems) {
  const OrderedJson& info = member_or_null(row, "extra_info");
  if (info.is_null()) return true;
  if (!info.is_object()) {
    problems.add(line, "extra_info", "must be an object", shown_json(info));
    return false;
  }
  out.extra_info_text = *member_text(text, "extra_info");
  out.extra_info = nlohmann::json::parse(out.extra_info_text);
  return true;
}

}  // namespace

std::vector<PromptRow> parse_prompts(std::string_view bytes, const std::string& name,
                                     const PromptSchema& schema) {
  std::vector<PromptRow> rows;
  RowProblems problems(name);
  for_each_row(bytes, problems, [&](size_t line, std::string_view text, const OrderedJson& row) {
    PromptRow out;
    out.place.line = line;
    const bool good = read_prompt(row, line, schema.prompt_key, out, problems) &&
                      read_data_source(row, line, schema.require_data_source, out, problems) &&
                      read_label(row, text, line, schema.require_label, out, problems) &&
                      read_extra_info(row, text, line, out, problems) && check_tools(row, line, problems) &&
                      check_text_only(row, line, problems);
    if (!good) return;
    out.tools = member_or_null(row, "tools");
    rows.push_back(std::move(out));
  });
  problems.fail_if_any();
  return rows;
}

PromptDataset load_prompts(std::span<const std::filesystem::path> files, const PromptSchema& schema) {
  return load_files<PromptRow>(
      files, schema.max_samples,
      [&](std::string_view bytes, const std::string& name) { return parse_prompts(bytes, name, schema); });
}

}  // namespace verlc
