// Rows to token ids and responses to text, with the model's own tokenizer and chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/text/chat_template.hpp"
#include "core/text/tokenizer.hpp"
#include "data/prompt_dataset.hpp"
#include "data/sft_dataset.hpp"
#include "recipe/recipe.hpp"

namespace verlc::pipeline {

/// A sequence to learn from: mask is 1 on the tokens whose log-prob counts, never on the first.
struct MaskedTokens {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
};

/// Immutable; any thread.
class TextCodec {
 public:
  /// `use_template` false: prompts are raw text. Error(input) when a template is wanted and the folder has
  /// none.
  TextCodec(const std::filesystem::path& tokenizer_folder, const std::filesystem::path& model_folder,
            bool use_template, const std::string& custom_template, const std::string& template_variables);
  static TextCodec from_recipe(const Recipe& recipe);

  /// Ids of a prompt, ready for the model to go on from.
  [[nodiscard]] std::vector<int32_t> encode_prompt(const PromptRow& row) const;
  /// The text of that prompt, as the model sees it.
  [[nodiscard]] std::string prompt_text(const PromptRow& row) const;
  /// A conversation with every assistant turn in the mask, its end token included. `where` names the row in
  /// the Error that says why the turns can't be told apart by ids.
  [[nodiscard]] MaskedTokens encode_sft(const SftRow& row, const std::string& where) const;
  /// One conversation of (role, content) pairs, for generate --chat.
  [[nodiscard]] std::vector<int32_t> encode_chat(const std::string& user_text) const;
  [[nodiscard]] std::vector<int32_t> encode_text(const std::string& text) const {
    return tokenizer_.encode(text, true);
  }

  /// Text without special tokens.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const {
    return tokenizer_.decode(ids, true);
  }
  [[nodiscard]] const text::Tokenizer& tokenizer() const { return tokenizer_; }
  /// Ids that end a response, ascending.
  [[nodiscard]] const std::vector<int32_t>& stop_ids() const { return stop_ids_; }

 private:
  [[nodiscard]] std::vector<int32_t> render(const OrderedJson& messages, const OrderedJson& tools,
                                            bool prompt) const;
  [[nodiscard]] MaskedTokens encode_turns(const OrderedJson& messages, const OrderedJson& tools,
                                          const std::string& where) const;
  [[nodiscard]] MaskedTokens encode_pair(const std::vector<int32_t>& prompt,
                                         const std::string& response) const;
  [[nodiscard]] int32_t end_token() const;

  text::Tokenizer tokenizer_;
  std::optional<text::ChatTemplate> template_;
  OrderedJson variables_;
  std::vector<int32_t> stop_ids_;
};

}  // namespace verlc::pipeline
