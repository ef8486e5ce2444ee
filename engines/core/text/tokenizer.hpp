// A Hugging Face tokenizer: text to token ids and back, equal to the `tokenizers` library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verlc::text {

class StreamDecoder;

/// Immutable after loading; every member may be called from many threads at once. Copies share one state.
class Tokenizer {
 public:
  /// Reads tokenizer.json of a model folder and, where present, tokenizer_config.json. Error(input) names the
  /// file and the part that is missing, malformed or not supported.
  static Tokenizer load(const std::filesystem::path& folder);

  /// From the texts themselves. `config` may be empty; its add_bos_token and add_eos_token then leave
  /// everything to the post-processor. `where` names the source in messages.
  static Tokenizer from_json(std::string_view tokenizer, std::string_view config = {},
                             std::string_view where = "tokenizer.json");

  /// Token ids of `text`; ill-formed UTF-8 is read as U+FFFD. With `add_special_tokens`, the tokens of the
  /// post-processor are added, and BOS and EOS as add_bos_token / add_eos_token of the configuration say,
  /// once each. Text that came from a chat template holds its special tokens already: encode it without.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const;

  /// The text of `ids`. Ids without a token are left out, special tokens too when asked.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  /// The id of a token, or -1.
  [[nodiscard]] int32_t token_to_id(std::string_view token) const;
  /// The token of an id as the file spells it; empty when there is none.
  [[nodiscard]] std::string_view id_to_token(int32_t id) const;
  [[nodiscard]] bool is_special(int32_t id) const;
  /// One more than the largest id.
  [[nodiscard]] int32_t vocab_size() const;

  /// Ids of the configuration's bos_token, eos_token, pad_token and unk_token; -1 where it names none.
  [[nodiscard]] int32_t bos_id() const;
  [[nodiscard]] int32_t eos_id() const;
  [[nodiscard]] int32_t pad_id() const;
  [[nodiscard]] int32_t unk_id() const;

 private:
  friend class StreamDecoder;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Decodes one response token by token. Everything that push() and flush() return, joined, equals decode() of
/// all ids; text is handed out only when no later token can change it, so a character is never split. Keeps
/// the tokenizer alive; not shared between threads.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  /// The text that became final with `id`; often empty inside a character.
  std::string push(int32_t id);
  /// The rest; the decoder must not be used afterwards.
  std::string flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace verlc::text
