#include "core/text/tokenizer.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/text/added_tokens.hpp"
#include "core/text/decoder.hpp"
#include "core/text/model.hpp"
#include "core/text/normalizer.hpp"
#include "core/text/post_processor.hpp"
#include "core/text/pre_tokenizer.hpp"
#include "core/text/tokenizer_json.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

/// What tokenizer_config.json says about the ends of a text.
enum class Wish { unsaid, no, yes };

const Json kNull;

JsonField member_or_null(const Json& tree, std::string_view key, const std::string& where) {
  const auto found = tree.find(key);
  return {found == tree.end() ? &kNull : &*found, where + ": " + std::string(key)};
}

Wish read_wish(const JsonField& config, std::string_view key) {
  if (!config.has(key)) return Wish::unsaid;
  return config.at(key).boolean() ? Wish::yes : Wish::no;
}

/// A special token of the configuration: a string, or an object with "content".
std::string read_named_token(const JsonField& config, std::string_view key) {
  if (!config.has(key)) return {};
  const JsonField field = config.at(key);
  return field.value->is_object() ? field.at("content").string() : field.string();
}

}  // namespace

struct Tokenizer::State {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<AddedTokens> added;
  Wish add_bos = Wish::unsaid;
  Wish add_eos = Wish::unsaid;
  int32_t bos = -1;
  int32_t eos = -1;
  int32_t pad = -1;
  int32_t unk = -1;

  [[nodiscard]] std::string_view token(int32_t id) const {
    const std::string_view added_token = added->index().token(id);
    return added_token.data() != nullptr ? added_token : model->vocab().token(id);
  }
  [[nodiscard]] int32_t find(std::string_view token) const {
    const int32_t id = added->index().find(token);
    return id >= 0 ? id : model->vocab().find(token);
  }
  void read_config(const JsonField& config);
  void encode_words(std::string text, bool starts_input, std::vector<int32_t>& ids) const;
  void encode_text(std::string_view text, bool starts_input, std::vector<int32_t>& ids) const;
  [[nodiscard]] std::vector<int32_t> surround(std::vector<int32_t> ids) const;
};

void Tokenizer::State::read_config(const JsonField& config) {
  const auto id_of = [&](std::string_view key) {
    const std::string token = read_named_token(config, key);
    return token.empty() ? -1 : find(token);
  };
  bos = id_of("bos_token");
  eos = id_of("eos_token");
  pad = id_of("pad_token");
  unk = id_of("unk_token");
  add_bos = read_wish(config, "add_bos_token");
  add_eos = read_wish(config, "add_eos_token");
}

void Tokenizer::State::encode_words(std::string text, bool starts_input, std::vector<int32_t>& ids) const {
  Segments segments{std::move(text), {}, starts_input};
  segments.pieces.push_back({0, segments.text.size()});
  if (pre_tokenizer) pre_tokenizer->apply(segments);
  for (const Range& piece : segments.pieces) {
    if (piece.begin != piece.end) model->encode(segments.view(piece), ids);
  }
}

void Tokenizer::State::encode_text(std::string_view text, bool starts_input,
                                   std::vector<int32_t>& ids) const {
  std::string clean(text);
  if (normalizer) clean = normalizer->apply(std::move(clean));
  for (const TokenSpan& span : added->normalized().split(clean)) {
    if (span.id >= 0) {
      ids.push_back(span.id);
    } else {
      encode_words(clean.substr(span.range.begin, span.range.end - span.range.begin),
                   starts_input && span.range.begin == 0, ids);
    }
  }
}

std::vector<int32_t> Tokenizer::State::surround(std::vector<int32_t> ids) const {
  if (post_processor) ids = post_processor->apply(std::move(ids));
  const bool has_bos = bos >= 0 && !ids.empty() && ids.front() == bos;
  if (add_bos == Wish::yes && bos >= 0 && !has_bos) ids.insert(ids.begin(), bos);
  const bool has_eos = eos >= 0 && !ids.empty() && ids.back() == eos;
  if (add_eos == Wish::yes && eos >= 0 && !has_eos) ids.push_back(eos);
  return ids;
}

Tokenizer Tokenizer::load(const std::filesystem::path& folder) {
  const auto path = folder / "tokenizer.json";
  if (!std::filesystem::exists(path)) {
    fail_input({.what = "the model folder has no tokenizer.json",
                .where = folder.string(),
                .value = {},
                .fix = "save the tokenizer with save_pretrained of transformers, which writes this file"});
  }
  const auto config = folder / "tokenizer_config.json";
  return from_json(read_file(path), std::filesystem::exists(config) ? read_file(config) : std::string(),
                   path.string());
}

Tokenizer Tokenizer::from_json(std::string_view tokenizer, std::string_view config, std::string_view where) {
  const std::string name(where);
  TokenizerJson file = read_tokenizer_json(tokenizer, name);
  auto state = std::make_shared<State>();
  const Json& tree = file.tree;
  state->normalizer = read_normalizer(member_or_null(tree, "normalizer", name));
  state->pre_tokenizer = read_pre_tokenizer(member_or_null(tree, "pre_tokenizer", name));
  state->decoder = read_decoder(member_or_null(tree, "decoder", name));
  const JsonField model = member_or_null(tree, "model", name);
  if (!model.value->is_object()) model.broken("must be an object");
  state->model = read_model(model, std::move(file.tables));
  state->added = std::make_unique<AddedTokens>(member_or_null(tree, "added_tokens", name),
                                               state->model->vocab(), state->normalizer.get());
  state->post_processor = read_post_processor(member_or_null(tree, "post_processor", name),
                                              [&](int32_t id) { return state->token(id).data() != nullptr; });
  if (!config.empty()) {
    const Json settings = parse_json(config, "tokenizer_config.json");
    state->read_config({&settings, "tokenizer_config.json"});
  }
  return Tokenizer(std::move(state));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = to_valid_utf8(text);
    text = repaired;
  }
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 4);
  for (const TokenSpan& span : state_->added->raw().split(text)) {
    if (span.id >= 0) {
      ids.push_back(span.id);
    } else {
      state_->encode_text(text.substr(span.range.begin, span.range.end - span.range.begin),
                          span.range.begin == 0, ids);
    }
  }
  return add_special_tokens ? state_->surround(std::move(ids)) : ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  StreamDecoder stream(*this, skip_special_tokens);
  std::string text;
  for (const int32_t id : ids) text += stream.push(id);
  text += stream.flush();
  return text;
}

int32_t Tokenizer::token_to_id(std::string_view token) const {
  return state_->find(token);
}
std::string_view Tokenizer::id_to_token(int32_t id) const {
  return state_->token(id);
}
bool Tokenizer::is_special(int32_t id) const {
  return state_->added->is_special(id);
}
int32_t Tokenizer::vocab_size() const {
  return std::max(state_->model->vocab().end_id(), state_->added->index().end_id());
}
int32_t Tokenizer::bos_id() const {
  return state_->bos;
}
int32_t Tokenizer::eos_id() const {
  return state_->eos;
}
int32_t Tokenizer::pad_id() const {
  return state_->pad;
}
int32_t Tokenizer::unk_id() const {
  return state_->unk;
}

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer::State> tokenizer;
  std::unique_ptr<DecodeState> decoder;
  bool skip_special;
  std::string ready;
  TokenSink sink;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(std::make_unique<State>()) {
  state_->tokenizer = tokenizer.state_;
  state_->decoder = tokenizer.state_->decoder->start();
  state_->skip_special = skip_special_tokens;
  state_->sink = [state = state_.get()](std::string_view part) { state->ready += part; };
}

StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(int32_t id) {
  const std::string_view token = state_->tokenizer->token(id);
  if (token.data() == nullptr) return {};
  if (state_->skip_special && state_->tokenizer->added->is_special(id)) return {};
  state_->decoder->push(token, state_->sink);
  return std::exchange(state_->ready, {});
}

std::string StreamDecoder::flush() {
  state_->decoder->finish(state_->sink);
  return std::exchange(state_->ready, {});
}

}  // namespace verlc::text
