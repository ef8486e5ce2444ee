#include "core/text/normalizer.hpp"

#include <functional>
#include <vector>

#include "core/text/byte_level.hpp"
#include "core/text/pattern.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

constexpr std::string_view kSupported =
    "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend, ByteLevel, Sequence";

/// A normalizer that is one function.
class FunctionNormalizer : public Normalizer {
 public:
  explicit FunctionNormalizer(std::function<std::string(std::string)> function)
      : function_(std::move(function)) {}
  [[nodiscard]] std::string apply(std::string text) const override { return function_(std::move(text)); }

 private:
  std::function<std::string(std::string)> function_;
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  [[nodiscard]] std::string apply(std::string text) const override {
    for (const auto& step : steps_) text = step->apply(std::move(text));
    return text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

template <typename Function>
std::unique_ptr<Normalizer> make(Function function) {
  return std::make_unique<FunctionNormalizer>(std::move(function));
}

std::unique_ptr<Normalizer> make_form(NormalForm form) {
  return make([form](const std::string& text) { return normalize(text, form); });
}

std::string strip_accents(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    if (!is_mark(point.value)) out.append(text, i, point.size);
    i += point.size;
  }
  return out;
}

std::unique_ptr<Normalizer> read_replace(const JsonField& field) {
  auto pattern = std::make_shared<const Pattern>(field.at("pattern"));
  return make([pattern, content = field.at("content").string()](const std::string& text) {
    return pattern->replace_all(text, content);
  });
}

std::unique_ptr<Normalizer> read_sequence(const JsonField& field) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  const JsonField list = field.at("normalizers");
  for (size_t i = 0; i < list.size(); ++i) {
    if (auto step = read_normalizer(list.at(i))) steps.push_back(std::move(step));
  }
  return std::make_unique<SequenceNormalizer>(std::move(steps));
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const JsonField& field) {
  if (field.value->is_null()) return nullptr;
  const std::string type = field.type();
  if (type == "NFC") return make_form(NormalForm::nfc);
  if (type == "NFD") return make_form(NormalForm::nfd);
  if (type == "NFKC") return make_form(NormalForm::nfkc);
  if (type == "NFKD") return make_form(NormalForm::nfkd);
  if (type == "Lowercase") return make([](const std::string& text) { return to_lower(text); });
  if (type == "StripAccents") return make(strip_accents);
  if (type == "Strip") {
    return make([left = field.boolean_or("strip_left", true), right = field.boolean_or("strip_right", true)](
                    const std::string& text) { return std::string(trim_space(text, left, right)); });
  }
  if (type == "Prepend") {
    return make([prefix = field.at("prepend").string()](std::string text) {
      return text.empty() ? std::move(text) : prefix + text;
    });
  }
  if (type == "ByteLevel") {
    return make([](const std::string& text) {
      std::string out;
      append_symbols(out, text);
      return out;
    });
  }
  if (type == "Replace") return read_replace(field);
  if (type == "Sequence") return read_sequence(field);
  field.unsupported("normalizer", kSupported);
}

}  // namespace verlc::text
