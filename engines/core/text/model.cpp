#include "core/text/model.hpp"

#include "core/base/error.hpp"

namespace verlc::text {
namespace {

class WordLevel : public Model {
 public:
  WordLevel(StringIndex vocab, int32_t unknown) : vocab_(std::move(vocab)), unknown_(unknown) {}

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const int32_t id = vocab_.find(word);
    if (id < 0 && unknown_ < 0) {
      fail_input({.what = "the tokenizer has no id for this text and no unknown token",
                  .where = "text to encode",
                  .value = std::string(word.substr(0, 80)),
                  .fix = "add the characters or an unk_token to tokenizer.json"});
    }
    ids.push_back(id < 0 ? unknown_ : id);
  }
  [[nodiscard]] const StringIndex& vocab() const override { return vocab_; }

 private:
  StringIndex vocab_;
  int32_t unknown_;
};

}  // namespace

std::unique_ptr<Model> read_word_level(const JsonField& field, ModelTables tables) {
  int32_t unknown = -1;
  if (field.has("unk_token")) unknown = tables.vocab.find(field.at("unk_token").string());
  return std::make_unique<WordLevel>(std::move(tables.vocab), unknown);
}

std::unique_ptr<Model> read_model(const JsonField& field, ModelTables tables) {
  // Files written before the key existed hold BPE models, told by their merges.
  const std::string type = field.has("type") ? field.type() : tables.merges.empty() ? "" : "BPE";
  if (type == "BPE") return read_bpe(field, std::move(tables));
  if (type == "WordLevel") return read_word_level(field, std::move(tables));
  field.unsupported("model", "BPE, WordLevel");
}

}  // namespace verlc::text
