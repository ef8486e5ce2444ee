#include "core/text/pre_tokenizer.hpp"

#include <functional>

#include "core/text/byte_level.hpp"
#include "core/text/pattern.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

constexpr std::string_view kSupported =
    "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, "
    "BertPreTokenizer, "
    "Metaspace, Sequence";

using Apply = std::function<void(Segments&)>;

class FunctionPreTokenizer : public PreTokenizer {
 public:
  explicit FunctionPreTokenizer(Apply function) : function_(std::move(function)) {}
  void apply(Segments& segments) const override { function_(segments); }

 private:
  Apply function_;
};

std::unique_ptr<PreTokenizer> make(Apply function) {
  return std::make_unique<FunctionPreTokenizer>(std::move(function));
}

/// Parts by a property of single characters: each one that has it is a part of its own, the others join.
template <typename Has>
std::vector<Part> parts_by_character(std::string_view text, Has has) {
  std::vector<Part> parts;
  size_t last = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    if (has(point.value)) {
      if (last < i) parts.push_back({{last, i}, false});
      parts.push_back({{i, i + point.size}, true});
      last = i + point.size;
    }
    i += point.size;
  }
  if (last < text.size()) parts.push_back({{last, text.size()}, false});
  return parts;
}

template <typename Has>
std::unique_ptr<PreTokenizer> split_by_character(SplitBehavior behavior, Has has) {
  return make([behavior, has](Segments& segments) {
    split_all(segments, behavior, [&](std::string_view text) { return parts_by_character(text, has); });
  });
}

SplitBehavior read_behavior(const JsonField& field) {
  const std::string name = field.string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  field.broken("must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

std::unique_ptr<PreTokenizer> read_split(const JsonField& field) {
  auto pattern = std::make_shared<const Pattern>(field.at("pattern"));
  const SplitBehavior behavior = read_behavior(field.at("behavior"));
  const bool invert = field.boolean_or("invert", false);
  return make([pattern, behavior, invert](Segments& segments) {
    split_all(segments, behavior, [&](std::string_view text) {
      std::vector<Part> parts = cover(pattern->find_all(text), text.size());
      if (invert) {
        for (Part& part : parts) part.matched = !part.matched;
      }
      return parts;
    });
  });
}

std::unique_ptr<PreTokenizer> read_byte_level(const JsonField& field) {
  const bool prefix = field.boolean_or("add_prefix_space", true);
  std::shared_ptr<const Regex> words;
  if (field.boolean_or("use_regex", true)) {
    words = std::make_shared<const Regex>(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  }
  return make([prefix, words](Segments& segments) {
    if (prefix) {
      rewrite_all(segments, [](std::string& out, std::string_view piece, bool) {
        if (!piece.starts_with(' ')) out.push_back(' ');
        out.append(piece);
      });
    }
    if (words) {
      split_all(segments, SplitBehavior::isolated,
                [&](std::string_view text) { return cover(words->find_all(text), text.size()); });
    }
    rewrite_all(segments, [](std::string& out, std::string_view piece, bool) { append_symbols(out, piece); });
  });
}

enum class Prepend { always, first, never };

Prepend read_prepend(const JsonField& field) {
  if (!field.has("prepend_scheme")) {
    return field.boolean_or("add_prefix_space", true) ? Prepend::always : Prepend::never;
  }
  const std::string name = field.at("prepend_scheme").string();
  if (name == "always") return Prepend::always;
  if (name == "first") return Prepend::first;
  if (name == "never") return Prepend::never;
  field.at("prepend_scheme").broken("must be always, first or never");
}

std::vector<Part> parts_by_literal(std::string_view text, std::string_view literal) {
  std::vector<Range> found;
  for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at)) {
    found.push_back({at, at + literal.size()});
    at += literal.size();
  }
  return cover(found, text.size());
}

std::unique_ptr<PreTokenizer> read_metaspace(const JsonField& field) {
  const std::string mark = field.string_or("replacement", "\u2581");
  if (count_code_points(mark) != 1) field.at("replacement").broken("must be one character");
  const Prepend prepend = read_prepend(field);
  const bool split = field.boolean_or("split", true);
  return make([mark, prepend, split](Segments& segments) {
    rewrite_all(segments, [&](std::string& out, std::string_view piece, bool starts_input) {
      const bool marked = piece.starts_with(' ') || piece.starts_with(mark);
      if (!marked && (prepend == Prepend::always || (prepend == Prepend::first && starts_input))) out += mark;
      for (const char c : piece) {
        if (c == ' ') {
          out += mark;
        } else {
          out += c;
        }
      }
    });
    if (split) {
      split_all(segments, SplitBehavior::merged_with_next,
                [&](std::string_view text) { return parts_by_literal(text, mark); });
    }
  });
}

std::vector<Part> parts_by_word(std::string_view text) {
  enum class Kind { space, word, other };
  std::vector<Part> parts;
  Kind last = Kind::space;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    const Kind kind = is_word(point.value) ? Kind::word : is_space(point.value) ? Kind::space : Kind::other;
    if (!parts.empty() && kind == last) {
      parts.back().range.end = i + point.size;
    } else {
      parts.push_back({{i, i + point.size}, kind == Kind::space});
    }
    last = kind;
    i += point.size;
  }
  return parts;
}

std::unique_ptr<PreTokenizer> read_sequence(const JsonField& field) {
  auto steps = std::make_shared<std::vector<std::unique_ptr<PreTokenizer>>>();
  const JsonField list = field.at("pretokenizers");
  for (size_t i = 0; i < list.size(); ++i) {
    if (auto step = read_pre_tokenizer(list.at(i))) steps->push_back(std::move(step));
  }
  return make([steps](Segments& segments) {
    for (const auto& step : *steps) step->apply(segments);
  });
}

std::unique_ptr<PreTokenizer> read_delimiter(const JsonField& field) {
  const std::string delimiter = field.at("delimiter").string();
  if (count_code_points(delimiter) != 1) field.at("delimiter").broken("must be one character");
  return split_by_character(SplitBehavior::removed,
                            [wanted = decode_at(delimiter, 0).value](char32_t c) { return c == wanted; });
}

std::unique_ptr<PreTokenizer> read_bert() {
  return make([](Segments& segments) {
    split_all(segments, SplitBehavior::removed,
              [](std::string_view text) { return parts_by_character(text, is_space); });
    split_all(segments, SplitBehavior::isolated,
              [](std::string_view text) { return parts_by_character(text, is_punctuation); });
  });
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonField& field) {
  if (field.value->is_null()) return nullptr;
  const std::string type = field.type();
  if (type == "ByteLevel") return read_byte_level(field);
  if (type == "Split") return read_split(field);
  if (type == "Metaspace") return read_metaspace(field);
  if (type == "Sequence") return read_sequence(field);
  if (type == "CharDelimiterSplit") return read_delimiter(field);
  if (type == "BertPreTokenizer") return read_bert();
  if (type == "WhitespaceSplit") return split_by_character(SplitBehavior::removed, is_space);
  if (type == "Digits") {
    const bool single = field.boolean_or("individual_digits", false);
    return split_by_character(single ? SplitBehavior::isolated : SplitBehavior::contiguous, is_number);
  }
  if (type == "Punctuation") {
    const bool given = field.has("behavior");
    return split_by_character(given ? read_behavior(field.at("behavior")) : SplitBehavior::isolated,
                              is_punctuation);
  }
  if (type == "Whitespace") {
    return make([](Segments& segments) { split_all(segments, SplitBehavior::removed, parts_by_word); });
  }
  field.unsupported("pre_tokenizer", kSupported);
}

}  // namespace verlc::text
