#include "core/text/post_processor.hpp"

namespace verlc::text {
namespace {

constexpr std::string_view kSupported =
    "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence";
constexpr size_t kMostPieces = 256;

/// A row of pieces: either ids, or the text (empty ids).
class TemplateProcessor : public PostProcessor {
 public:
  explicit TemplateProcessor(std::vector<std::vector<int32_t>> pieces) : pieces_(std::move(pieces)) {}

  [[nodiscard]] std::vector<int32_t> apply(std::vector<int32_t> ids) const override {
    std::vector<int32_t> out;
    for (const auto& piece : pieces_) {
      const auto& from = piece.empty() ? ids : piece;
      out.insert(out.end(), from.begin(), from.end());
    }
    return out;
  }

 private:
  std::vector<std::vector<int32_t>> pieces_;
};

class SequenceProcessor : public PostProcessor {
 public:
  explicit SequenceProcessor(std::vector<std::unique_ptr<PostProcessor>> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] std::vector<int32_t> apply(std::vector<int32_t> ids) const override {
    for (const auto& step : steps_) ids = step->apply(std::move(ids));
    return ids;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

int32_t read_id(const JsonField& field, const std::function<bool(int32_t)>& is_token) {
  const auto id = static_cast<int32_t>(field.integer(0, INT32_MAX));
  if (!is_token(id)) field.broken("this id names no token");
  return id;
}

std::unique_ptr<PostProcessor> read_template(const JsonField& field,
                                             const std::function<bool(int32_t)>& is_token) {
  std::vector<std::vector<int32_t>> pieces;
  const JsonField single = field.at("single");
  if (single.size() > kMostPieces) single.broken("has too many pieces");
  size_t num_texts = 0;
  for (size_t i = 0; i < single.size(); ++i) {
    const JsonField piece = single.at(i);
    if (piece.has("Sequence")) {
      pieces.emplace_back();
      ++num_texts;
      continue;
    }
    const std::string name = piece.at("SpecialToken").at("id").string();
    const JsonField ids = field.at("special_tokens").at(name).at("ids");
    std::vector<int32_t> special;
    if (ids.size() == 0 || ids.size() > kMostPieces) ids.broken("must hold 1 to 256 ids");
    for (size_t j = 0; j < ids.size(); ++j) special.push_back(read_id(ids.at(j), is_token));
    pieces.push_back(std::move(special));
  }
  if (num_texts != 1) single.broken("must hold the sequence A once");
  return std::make_unique<TemplateProcessor>(std::move(pieces));
}

std::unique_ptr<PostProcessor> read_pair(const JsonField& field,
                                         const std::function<bool(int32_t)>& is_token) {
  const auto id_of = [&](std::string_view key) {
    const JsonField pair = field.at(key);
    if (pair.size() != 2) pair.broken("must be [token, id]");
    return std::vector<int32_t>{read_id(pair.at(size_t{1}), is_token)};
  };
  return std::make_unique<TemplateProcessor>(
      std::vector<std::vector<int32_t>>{id_of("cls"), std::vector<int32_t>{}, id_of("sep")});
}

}  // namespace

std::unique_ptr<PostProcessor> read_post_processor(const JsonField& field,
                                                   const std::function<bool(int32_t)>& is_token) {
  if (field.value->is_null()) return nullptr;
  const std::string type = field.type();
  if (type == "ByteLevel") return nullptr;
  if (type == "TemplateProcessing") return read_template(field, is_token);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_pair(field, is_token);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<PostProcessor>> steps;
    const JsonField list = field.at("processors");
    for (size_t i = 0; i < list.size(); ++i) {
      if (auto step = read_post_processor(list.at(i), is_token)) steps.push_back(std::move(step));
    }
    return std::make_unique<SequenceProcessor>(std::move(steps));
  }
  field.unsupported("post_processor", kSupported);
}

}  // namespace verlc::text
