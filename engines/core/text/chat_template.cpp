#include "core/text/chat_template.hpp"

#include <fmt/format.h>

#include <ctime>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/text/jinja_ast.hpp"
#include "core/text/jinja_render.hpp"
#include "core/text/json_field.hpp"

namespace verlc::text {
namespace {

using jinja::Value;
using nlohmann::ordered_json;

struct Parsed {
  std::string name;
  jinja::Body body;
};

Parsed parse(std::string_view source, std::string name) {
  Parsed parsed{std::move(name), {}};
  parsed.body = jinja::parse_template(source, parsed.name);
  return parsed;
}

/// The variables that `transformers` passes for a tokenizer's special tokens.
ordered_json special_tokens_of(const JsonField& config) {
  static constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                           "pad_token", "cls_token", "mask_token"};
  ordered_json tokens = ordered_json::object();
  const auto take = [&](const JsonField& field, const std::string& name) {
    tokens[name] = field.value->is_object() ? field.at("content").string() : field.string();
  };
  for (const char* name : kNames) {
    if (config.has(name)) take(config.at(name), name);
  }
  for (const char* group : {"extra_special_tokens", "model_specific_special_tokens"}) {
    if (!config.has(group) || !config.at(group).value->is_object()) continue;
    const JsonField extra = config.at(group);
    for (const auto& [name, value] : extra.value->items()) take({&value, extra.where + "." + name}, name);
  }
  return tokens;
}

/// A message as templates see it: no null members, and the reasoning under both of its names.
ordered_json clean_message(const ordered_json& message, size_t index) {
  if (!message.is_object()) {
    fail_input({.what = "a message must be an object with role and content",
                .where = fmt::format("messages[{}]", index),
                .value = message.dump(-1, ' ', false, ordered_json::error_handler_t::replace).substr(0, 120),
                .fix = {}});
  }
  ordered_json clean = ordered_json::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) clean[key] = value;
  }
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = clean.find(name);
    if (found == clean.end()) continue;
    const ordered_json reasoning = *found;
    if (!clean.contains("thinking")) clean["thinking"] = reasoning;
    clean["reasoning_content"] = reasoning;
    break;
  }
  return clean;
}

}  // namespace

struct ChatTemplate::State {
  Parsed plain;
  std::optional<Parsed> tool_use;
  std::vector<std::pair<std::string, Value>> special_tokens;

  void set_tokens(const ordered_json& tokens) {
    for (const auto& [name, value] : tokens.items())
      special_tokens.emplace_back(name, Value::from_json(value));
  }
};

ChatTemplate ChatTemplate::from_string(std::string_view source, const ordered_json& special_tokens,
                                       std::string_view name) {
  auto state = std::make_shared<State>();
  state->plain = parse(source, std::string(name));
  state->set_tokens(special_tokens);
  return ChatTemplate(std::move(state));
}

namespace {

/// Where a folder's template stands: a string, or a list of {"name", "template"}.
struct Source {
  Json value;
  std::string where;
};

Source find_source(const std::filesystem::path& folder) {
  const auto own_file = folder / "chat_template.jinja";
  if (std::filesystem::exists(own_file)) return {Json(read_file(own_file)), own_file.string()};
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const auto path = folder / name;
    if (!std::filesystem::exists(path)) continue;
    const Json tree = parse_json(read_file(path), path.string());
    const JsonField root{&tree, path.string()};
    if (root.has("chat_template"))
      return {*root.at("chat_template").value, path.string() + ": chat_template"};
  }
  return {};
}

}  // namespace

bool ChatTemplate::exists(const std::filesystem::path& folder) {
  return !find_source(folder).value.is_null();
}

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder) {
  const Source source = find_source(folder);
  const JsonField field{&source.value, source.where};
  if (source.value.is_null()) {
    fail_input({.what = "the model folder has no chat template",
                .where = folder.string(),
                .value = {},
                .fix = "add chat_template.jinja, or give prompts as plain text"});
  }
  auto state = std::make_shared<State>();
  if (!source.value.is_array()) {
    state->plain = parse(field.string(), source.where);
  } else {
    for (size_t i = 0; i < field.size(); ++i) {
      const std::string name = field.at(i).at("name").string();
      const std::string where = fmt::format("{} \"{}\"", source.where, name);
      if (name == "default") state->plain = parse(field.at(i).at("template").string(), where);
      if (name == "tool_use") state->tool_use = parse(field.at(i).at("template").string(), where);
    }
    if (state->plain.name.empty()) field.broken("the list of chat templates has none called \"default\"");
  }
  const auto config = folder / "tokenizer_config.json";
  if (std::filesystem::exists(config)) {
    const Json tree = parse_json(read_file(config), config.string());
    state->set_tokens(special_tokens_of({&tree, config.string()}));
  }
  return ChatTemplate(std::move(state));
}

std::string ChatTemplate::render(const ordered_json& messages, const ChatOptions& options) const {
  if (!messages.is_array() || messages.empty()) {
    fail_input({.what = "a conversation must be a list of at least one message",
                .where = "messages",
                .value = {},
                .fix = {}});
  }
  ordered_json cleaned = ordered_json::array();
  for (size_t i = 0; i < messages.size(); ++i) cleaned.push_back(clean_message(messages[i], i));
  auto variables = state_->special_tokens;
  const auto set = [&](const std::string& name, Value value) {
    for (auto& [own, held] : variables) {
      if (own == name) {
        held = std::move(value);
        return;
      }
    }
    variables.emplace_back(name, std::move(value));
  };
  for (const auto& [name, value] : options.variables.items()) set(name, Value::from_json(value));
  set("messages", Value::from_json(cleaned));
  set("tools", Value::from_json(options.tools));
  set("documents", Value(jinja::None{}));
  set("add_generation_prompt", Value(options.add_generation_prompt));
  const bool with_tools = !options.tools.is_null() && state_->tool_use.has_value();
  const Parsed& chosen = with_tools ? *state_->tool_use : state_->plain;
  const int64_t now = options.now.value_or(static_cast<int64_t>(std::time(nullptr)));
  return jinja::render(chosen.body, chosen.name, std::move(variables), now);
}

}  // namespace verlc::text
