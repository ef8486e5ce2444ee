#include "data/messages.hpp"

#include "data/jsonl.hpp"

namespace verlc {
namespace {

// What is wrong with one message, empty when nothing is; `key` names the member at fault.
std::string message_problem(const OrderedJson& message, std::string& key) {
  if (!message.is_object()) return "must be an object with role and content";
  const OrderedJson& role = member_or_null(message, "role");
  if (!role.is_string() || role.get_ref<const std::string&>().empty()) {
    key += ".role";
    return role.is_null() ? "is missing" : "must be a non-empty string";
  }
  const OrderedJson& content = member_or_null(message, "content");
  if (content.is_string() || (content.is_null() && message.contains("tool_calls"))) return "";
  key += ".content";
  if (content.is_array()) return "must be text: lists of parts (images, videos) are not supported";
  return content.is_null() ? "is missing" : "must be text";
}

}  // namespace

const OrderedJson& member_or_null(const OrderedJson& object, const std::string& key) {
  static const OrderedJson kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

bool check_messages(const OrderedJson& messages, size_t line, const std::string& key, RowProblems& problems) {
  if (!messages.is_array() || messages.empty()) {
    problems.add(line, key, "must be a non-empty list of messages", shown_json(messages));
    return false;
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    std::string at = key + "[" + std::to_string(i) + "]";
    const std::string problem = message_problem(messages[i], at);
    if (problem.empty()) continue;
    problems.add(line, at, problem, shown_json(messages[i]));
    return false;
  }
  return true;
}

bool check_tools(const OrderedJson& row, size_t line, RowProblems& problems) {
  const OrderedJson& tools = member_or_null(row, "tools");
  if (tools.is_null()) return true;
  bool good = tools.is_array();
  for (const OrderedJson& tool : tools) good = good && tool.is_object();
  if (!good) problems.add(line, "tools", "must be a list of objects", shown_json(tools));
  return good;
}

bool check_text_only(const OrderedJson& row, size_t line, RowProblems& problems) {
  for (const char* key : {"images", "videos"}) {
    const OrderedJson& media = member_or_null(row, key);
    if (media.is_null() || media.empty()) continue;
    problems.add(line, key, "must be empty: rows with images or videos are not supported", "",
                 "remove the row");
    return false;
  }
  return true;
}

}  // namespace verlc
