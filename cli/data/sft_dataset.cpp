#include "data/sft_dataset.hpp"

#include <algorithm>

#include "data/jsonl.hpp"
#include "data/load_files.hpp"
#include "data/messages.hpp"

namespace verlc {
namespace {

bool read_conversation(const OrderedJson& messages, size_t line, const std::string& key, SftRow& out,
                       RowProblems& problems) {
  if (!check_messages(messages, line, key, problems)) return false;
  const bool learns = std::any_of(messages.begin(), messages.end(), [](const OrderedJson& message) {
    return member_or_null(message, "role") == "assistant";
  });
  if (!learns) problems.add(line, key, "holds no assistant message, so there is nothing to learn");
  out.messages = messages;
  return learns;
}

bool read_pair(const OrderedJson& row, size_t line, const SftSchema& schema, SftRow& out,
               RowProblems& problems) {
  const OrderedJson& prompt = member_or_null(row, schema.prompt_key);
  const OrderedJson& response = member_or_null(row, schema.response_key);
  if (prompt.is_null()) {
    problems.add(line, schema.prompt_key, "is missing", "",
                 "give " + schema.messages_key + ", or " + schema.prompt_key + " and " + schema.response_key);
    return false;
  }
  if (!response.is_string() || response.get_ref<const std::string&>().empty()) {
    problems.add(line, schema.response_key, response.is_null() ? "is missing" : "must be non-empty text");
    return false;
  }
  out.response = response.get<std::string>();
  if (prompt.is_string()) {
    out.text = prompt.get<std::string>();
    return true;
  }
  out.prompt_messages = prompt;
  return check_messages(prompt, line, schema.prompt_key, problems);
}

}  // namespace

std::vector<SftRow> parse_sft(std::string_view bytes, const std::string& name, const SftSchema& schema) {
  std::vector<SftRow> rows;
  RowProblems problems(name);
  for_each_row(bytes, problems, [&](size_t line, std::string_view /*text*/, const OrderedJson& row) {
    SftRow out;
    out.place.line = line;
    const OrderedJson& messages = member_or_null(row, schema.messages_key);
    const bool good =
        (messages.is_null() ? read_pair(row, line, schema, out, problems)
                            : read_conversation(messages, line, schema.messages_key, out, problems)) &&
        check_tools(row, line, problems) && check_text_only(row, line, problems);
    if (!good) return;
    out.tools = member_or_null(row, "tools");
    rows.push_back(std::move(out));
  });
  problems.fail_if_any();
  return rows;
}

SftDataset load_sft(std::span<const std::filesystem::path> files, const SftSchema& schema) {
  return load_files<SftRow>(files, schema.max_samples, [&](std::string_view bytes, const std::string& name) {
    return parse_sft(bytes, name, schema);
  });
}

}  // namespace verlc
