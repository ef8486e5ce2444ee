// Tokens that stand outside of the model: found in the text before the model sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json_field.hpp"
#include "core/text/normalizer.hpp"
#include "core/text/regex.hpp"
#include "core/text/string_index.hpp"

namespace verlc::text {

/// One entry of "added_tokens".
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes white space on its left along
  bool rstrip = false;       ///< takes white space on its right along
  bool normalized = false;   ///< looked for in the normalized text instead of the raw one
  bool special = false;      ///< left out by decode when asked
};

/// A stretch of text: an added token, or (id -1) text between them.
struct TokenSpan {
  Range range;
  int32_t id = -1;
};

/// Finds a set of strings in a text: leftmost first, the longest of those that begin there. Immutable.
class TokenMatcher {
 public:
  /// Takes what to look for and the token that it stands for; empty strings are ignored.
  void add(std::string_view needle, const AddedToken& token);

  /// Covers `text` with spans, applying the tokens' single_word, lstrip and rstrip.
  [[nodiscard]] std::vector<TokenSpan> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, int32_t>> next;
    int32_t token = -1;
  };
  struct Flags {
    int32_t id;
    bool single_word, lstrip, rstrip;
  };
  struct Match {
    size_t end;
    int32_t token;  ///< -1: none begins here
  };
  [[nodiscard]] Match longest_at(std::string_view text, size_t at) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<Flags> tokens_;
  bool begins_[256] = {};
};

/// All added tokens of a tokenizer. Immutable; safe to use from many threads.
class AddedTokens {
 public:
  /// Reads the list. Error(input) when an id contradicts the model's vocabulary or another added token.
  AddedTokens(const JsonField& field, const StringIndex& vocab, const Normalizer* normalizer);

  [[nodiscard]] const TokenMatcher& raw() const { return raw_; }
  [[nodiscard]] const TokenMatcher& normalized() const { return normalized_; }
  [[nodiscard]] const StringIndex& index() const { return index_; }
  [[nodiscard]] const std::vector<AddedToken>& tokens() const { return tokens_; }
  [[nodiscard]] bool is_special(int32_t id) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<int32_t> special_;  ///< sorted ids
  StringIndex index_;
  TokenMatcher raw_;
  TokenMatcher normalized_;
};

}  // namespace verlc::text
