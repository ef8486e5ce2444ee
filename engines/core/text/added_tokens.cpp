#include "core/text/added_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

char32_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return decode_at(text, at).value;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const bool left = begin == 0 || !is_word(last_character(text.substr(0, begin)));
  const bool right = end == text.size() || !is_word(decode_at(text, end).value);
  return left && right;
}

AddedToken read_token(const JsonField& field) {
  AddedToken token;
  token.id = static_cast<int32_t>(field.at("id").integer(0, INT32_MAX));
  token.content = field.at("content").string();
  token.single_word = field.boolean_or("single_word", false);
  token.lstrip = field.boolean_or("lstrip", false);
  token.rstrip = field.boolean_or("rstrip", false);
  token.special = field.boolean_or("special", false);
  token.normalized = field.boolean_or("normalized", !token.special);
  return token;
}

}  // namespace

void TokenMatcher::add(std::string_view needle, const AddedToken& token) {
  if (needle.empty()) return;
  begins_[static_cast<unsigned char>(needle[0])] = true;
  int32_t node = 0;
  for (const char c : needle) {
    const auto byte = static_cast<unsigned char>(c);
    auto& next = nodes_[static_cast<size_t>(node)].next;
    auto found = std::lower_bound(next.begin(), next.end(), std::pair<unsigned char, int32_t>{byte, -1});
    if (found == next.end() || found->first != byte) {
      const auto fresh = static_cast<int32_t>(nodes_.size());
      next.insert(found, {byte, fresh});
      nodes_.emplace_back();
      node = fresh;
    } else {
      node = found->second;
    }
  }
  // Of equal strings the first one added counts.
  int32_t& owner = nodes_[static_cast<size_t>(node)].token;
  if (owner >= 0) return;
  owner = static_cast<int32_t>(tokens_.size());
  tokens_.push_back({token.id, token.single_word, token.lstrip, token.rstrip});
}

TokenMatcher::Match TokenMatcher::longest_at(std::string_view text, size_t at) const {
  Match match{at, -1};
  if (!begins_[static_cast<unsigned char>(text[at])]) return match;
  int32_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto& next = nodes_[static_cast<size_t>(node)].next;
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto found =
        std::lower_bound(next.begin(), next.end(), std::pair<unsigned char, int32_t>{byte, -1});
    if (found == next.end() || found->first != byte) break;
    node = found->second;
    if (nodes_[static_cast<size_t>(node)].token >= 0)
      match = {i + 1, nodes_[static_cast<size_t>(node)].token};
  }
  return match;
}

std::vector<TokenSpan> TokenMatcher::split(std::string_view text) const {
  std::vector<TokenSpan> spans;
  size_t covered = 0;
  for (size_t at = 0; at < text.size();) {
    const Match match = longest_at(text, at);
    if (match.token < 0) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = match.end;
    at = match.end;
    const Flags& token = tokens_[static_cast<size_t>(match.token)];
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) {
      // Spaces that the token before has taken stay with it.
      begin = std::max(trim_space(text.substr(0, begin), false, true).size(), covered);
    }
    if (token.rstrip) end = text.size() - trim_space(text.substr(end), true, false).size();
    if (covered < begin) spans.push_back({{covered, begin}, -1});
    spans.push_back({{begin, end}, token.id});
    covered = end;
  }
  if (covered < text.size()) spans.push_back({{covered, text.size()}, -1});
  return spans;
}

AddedTokens::AddedTokens(const JsonField& field, const StringIndex& vocab, const Normalizer* normalizer) {
  const size_t count = field.value->is_null() ? 0 : field.size();
  for (size_t i = 0; i < count; ++i) {
    const JsonField entry = field.at(i);
    AddedToken token = read_token(entry);
    const int32_t model_id = vocab.find(token.content);
    const std::string_view model_token = vocab.token(token.id);
    const bool taken = model_token.data() != nullptr && model_token != token.content;
    if ((model_id >= 0 && model_id != token.id) || taken) {
      const std::string other = taken ? fmt::format("id {} is \"{}\"", token.id, model_token)
                                      : fmt::format("\"{}\" is id {}", token.content, model_id);
      entry.broken("added token contradicts the model's vocabulary, where " + other);
    }
    tokens_.push_back(std::move(token));
  }
  for (const AddedToken& token : tokens_) {
    index_.add(token.content, token.id);
    if (token.special) special_.push_back(token.id);
    if (!token.normalized) {
      raw_.add(token.content, token);
    } else {
      normalized_.add(normalizer != nullptr ? normalizer->apply(token.content) : token.content, token);
    }
  }
  std::sort(special_.begin(), special_.end());
  index_.build(field.where, vocab.end_id());
}

bool AddedTokens::is_special(int32_t id) const {
  return std::binary_search(special_.begin(), special_.end(), id);
}

}  // namespace verlc::text
