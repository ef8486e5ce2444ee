#include "pipeline/text_codec.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/text/eos.hpp"

namespace verlc::pipeline {
namespace {

// Raw text of a conversation: the contents of its messages one after another.
std::string joined_contents(const OrderedJson& messages) {
  std::string text;
  for (const OrderedJson& message : messages)
    if (message.contains("content") && message["content"].is_string())
      text += message["content"].get<std::string>();
  return text;
}

bool is_assistant(const OrderedJson& message) {
  return message.value("role", std::string()) == "assistant";
}

OrderedJson first_messages(const OrderedJson& messages, size_t count) {
  OrderedJson part = OrderedJson::array();
  for (size_t i = 0; i < count; ++i) part.push_back(messages[i]);
  return part;
}

bool starts_with(const std::vector<int32_t>& ids, const std::vector<int32_t>& prefix) {
  return ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
}

}  // namespace

TextCodec::TextCodec(const std::filesystem::path& tokenizer_folder, const std::filesystem::path& model_folder,
                     bool use_template, const std::string& custom_template,
                     const std::string& template_variables)
    : tokenizer_(text::Tokenizer::load(tokenizer_folder)),
      variables_(template_variables.empty() ? OrderedJson::object() : OrderedJson::parse(template_variables)),
      stop_ids_(text::read_stop_ids(model_folder, tokenizer_)) {
  if (!use_template) return;
  if (!custom_template.empty()) {
    OrderedJson special = OrderedJson::object();
    if (tokenizer_.bos_id() >= 0)
      special["bos_token"] = std::string(tokenizer_.id_to_token(tokenizer_.bos_id()));
    if (tokenizer_.eos_id() >= 0)
      special["eos_token"] = std::string(tokenizer_.id_to_token(tokenizer_.eos_id()));
    template_ = text::ChatTemplate::from_string(custom_template, special, "model.custom_chat_template");
  } else {
    template_ = text::ChatTemplate::load(tokenizer_folder);
  }
}

TextCodec TextCodec::from_recipe(const Recipe& recipe) {
  return {recipe.model.tokenizer_path, recipe.model.path, recipe.data.apply_chat_template,
          recipe.model.custom_chat_template, recipe.data.apply_chat_template_kwargs.json.dump()};
}

std::vector<int32_t> TextCodec::render(const OrderedJson& messages, const OrderedJson& tools,
                                       bool prompt) const {
  text::ChatOptions options;
  options.add_generation_prompt = prompt;
  options.tools = tools;
  options.variables = variables_;
  return tokenizer_.encode(template_->render(messages, options), false);
}

std::string TextCodec::prompt_text(const PromptRow& row) const {
  if (!template_) return row.messages.is_null() ? row.text : joined_contents(row.messages);
  text::ChatOptions options;
  options.add_generation_prompt = true;
  options.tools = row.tools;
  options.variables = variables_;
  const OrderedJson messages =
      row.messages.is_null() ? OrderedJson::array({{{"role", "user"}, {"content", row.text}}}) : row.messages;
  return template_->render(messages, options);
}

std::vector<int32_t> TextCodec::encode_prompt(const PromptRow& row) const {
  // A template writes its special tokens itself; raw text gets those of the tokenizer.
  return tokenizer_.encode(prompt_text(row), !template_);
}

std::vector<int32_t> TextCodec::encode_chat(const std::string& user_text) const {
  return render(OrderedJson::array({{{"role", "user"}, {"content", user_text}}}), nullptr, true);
}

int32_t TextCodec::end_token() const {
  if (tokenizer_.eos_id() >= 0) return tokenizer_.eos_id();
  if (!stop_ids_.empty()) return stop_ids_.front();
  fail_input({.what = "the tokenizer names no end-of-sequence token",
              .where = "model.tokenizer_path",
              .value = {},
              .fix = {}});
}

MaskedTokens TextCodec::encode_pair(const std::vector<int32_t>& prompt, const std::string& response) const {
  MaskedTokens result{prompt, std::vector<uint8_t>(prompt.size(), 0)};
  const std::vector<int32_t> ids = tokenizer_.encode(response, false);
  result.tokens.insert(result.tokens.end(), ids.begin(), ids.end());
  result.tokens.push_back(end_token());
  result.mask.resize(result.tokens.size(), 1);
  result.mask.front() = 0;
  return result;
}

// Each assistant turn is what the conversation up to it adds to the conversation before it, by ids.
MaskedTokens TextCodec::encode_turns(const OrderedJson& messages, const OrderedJson& tools,
                                     const std::string& where) const {
  MaskedTokens result;
  result.tokens = render(messages, tools, false);
  result.mask.assign(result.tokens.size(), 0);
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!is_assistant(messages[i])) continue;
    const std::vector<int32_t> before = render(first_messages(messages, i), tools, true);
    const std::vector<int32_t> after = render(first_messages(messages, i + 1), tools, false);
    if (!starts_with(after, before) || !starts_with(result.tokens, before))
      fail_input(
          {.what = "the chat template writes the conversation so far differently once more turns follow, so "
                   "the turns can't be told apart by token ids",
           .where = where + ": messages[" + std::to_string(i) + "]",
           .value = {},
           .fix = "split the conversation into rows that end with the turn to learn"});
    const size_t end = std::min(after.size(), result.tokens.size());
    std::fill(result.mask.begin() + static_cast<std::ptrdiff_t>(before.size()),
              result.mask.begin() + static_cast<std::ptrdiff_t>(end), uint8_t{1});
  }
  if (!result.mask.empty()) result.mask.front() = 0;
  return result;
}

MaskedTokens TextCodec::encode_sft(const SftRow& row, const std::string& where) const {
  if (row.messages.is_null()) {
    PromptRow prompt;
    prompt.messages = row.prompt_messages;
    prompt.text = row.text;
    prompt.tools = row.tools;
    return encode_pair(encode_prompt(prompt), row.response);
  }
  if (template_) return encode_turns(row.messages, row.tools, where);
  // Without a template the last message is the response and all before it the prompt.
  PromptRow prompt;
  prompt.messages = first_messages(row.messages, row.messages.size() - 1);
  return encode_pair(encode_prompt(prompt), row.messages.back().value("content", std::string()));
}

}  // namespace verlc::pipeline
