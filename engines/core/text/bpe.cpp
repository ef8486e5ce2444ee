// Byte pair encoding as the `tokenizers` library does it: the pair of lowest rank merges first, the leftmost
// of equals first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/base/error.hpp"
#include "core/text/model.hpp"
#include "core/text/pair_table.hpp"
#include "core/text/unicode.hpp"
#include "core/text/word_cache.hpp"

namespace verlc::text {
namespace {

constexpr size_t kLongWord = 32;  ///< symbols; shorter words merge in one go

char32_t last_code_point(std::string_view token) {
  if (token.empty()) return 0;
  size_t at = token.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(token[at]) & 0xC0) == 0x80) --at;
  return decode_at(token, at).value;
}

struct Options {
  std::string prefix;  ///< continuing_subword_prefix
  std::string suffix;  ///< end_of_word_suffix
  int32_t unknown = -1;
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

/// A symbol of the word under work: a list threaded through an array.
struct Symbol {
  int32_t id;
  int32_t previous;
  int32_t next;
  bool alive;
};

/// A merge that may be done; stale ones are told by their merged id.
struct Candidate {
  int32_t rank;
  int32_t position;
  int32_t id;
  /// std heaps keep the largest on top, so the order is turned around.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

class Bpe : public Model {
 public:
  Bpe(StringIndex vocab, PairTable merges, PairTable joints, Options options);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  [[nodiscard]] const StringIndex& vocab() const override { return vocab_; }

 private:
  [[nodiscard]] int32_t id_of_character(std::string_view character, char32_t value) const;
  void split_symbols(std::string_view word, std::vector<Symbol>& symbols) const;
  bool append_byte_tokens(std::string_view character, std::vector<Symbol>& symbols) const;
  void merge(std::span<Symbol> symbols) const;
  void merge_long(std::vector<Symbol>& symbols) const;

  StringIndex vocab_;
  PairTable merges_;
  Options options_;
  struct Edges {
    char32_t first, last;
  };
  std::vector<Edges> edges_;                ///< first and last code point of an id's token
  PairTable joints_;                        ///< (last, first) code points between the parts of any merge
  std::vector<int32_t> characters_;         ///< ids of code points below 0x10000, -1 for none
  std::array<int32_t, 256> byte_tokens_{};  ///< ids of "<0xAB>", -1 for none
  WordCache cache_;
};

Bpe::Bpe(StringIndex vocab, PairTable merges, PairTable joints, Options options)
    : vocab_(std::move(vocab)),
      merges_(std::move(merges)),
      options_(std::move(options)),
      joints_(std::move(joints)) {
  characters_.assign(0x10000, -1);
  edges_.resize(static_cast<size_t>(vocab_.end_id()));
  for (int32_t id = 0; id < vocab_.end_id(); ++id) {
    const std::string_view token = vocab_.token(id);
    const CodePoint point = decode_at(token, 0);
    edges_[static_cast<size_t>(id)] = {point.value, last_code_point(token)};
    if (!token.empty() && point.size == token.size() && point.value < characters_.size()) {
      characters_[point.value] = id;
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    byte_tokens_[static_cast<size_t>(byte)] = vocab_.find(fmt::format("<0x{:02X}>", byte));
  }
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.empty()) return;
  if (options_.ignore_merges) {
    const int32_t id = vocab_.find(word);
    if (id >= 0) {
      ids.push_back(id);
      return;
    }
  }
  if (cache_.find(word, ids)) return;
  std::vector<Symbol> symbols;
  split_symbols(word, symbols);
  symbols.size() > kLongWord ? merge_long(symbols) : merge(symbols);
  const size_t before = ids.size();
  for (const Symbol& symbol : symbols) {
    if (symbol.alive) ids.push_back(symbol.id);
  }
  cache_.put(word, ids.data() + before, ids.size() - before);
}

int32_t Bpe::id_of_character(std::string_view character, char32_t value) const {
  return value < characters_.size() ? characters_[value] : vocab_.find(character);
}

bool Bpe::append_byte_tokens(std::string_view character, std::vector<Symbol>& symbols) const {
  for (const char c : character) {
    if (byte_tokens_[static_cast<unsigned char>(c)] < 0) return false;
  }
  for (const char c : character) {
    symbols.push_back({byte_tokens_[static_cast<unsigned char>(c)], 0, 0, true});
  }
  return true;
}

void Bpe::split_symbols(std::string_view word, std::vector<Symbol>& symbols) const {
  const bool plain = options_.prefix.empty() && options_.suffix.empty();
  bool pending_unknown = false;
  symbols.reserve(word.size());
  const auto flush = [&] {
    if (pending_unknown) symbols.push_back({options_.unknown, 0, 0, true});
    pending_unknown = false;
  };
  for (size_t i = 0; i < word.size();) {
    const CodePoint point = decode_at(word, i);
    std::string_view character = word.substr(i, point.size);
    std::string dressed;
    int32_t id = -1;
    if (plain) {
      id = id_of_character(character, point.value);
    } else {
      if (i > 0) dressed = options_.prefix;
      dressed += character;
      if (i + point.size == word.size()) dressed += options_.suffix;
      character = dressed;
      id = vocab_.find(character);
    }
    i += point.size;
    if (id >= 0) {
      flush();
      symbols.push_back({id, 0, 0, true});
      continue;
    }
    if (options_.byte_fallback && append_byte_tokens(character, symbols)) continue;
    if (options_.unknown < 0) continue;
    if (!options_.fuse_unknown) flush();
    pending_unknown = true;
  }
  flush();
}

void Bpe::merge_long(std::vector<Symbol>& symbols) const {
  // No merge reaches over a place whose two characters no merge joins, so what lies between such places
  // merges by itself: the same result with small heaps.
  size_t begin = 0;
  for (size_t i = 1; i <= symbols.size(); ++i) {
    if (i < symbols.size()) {
      const char32_t left = edges_[static_cast<size_t>(symbols[i - 1].id)].last;
      const char32_t right = edges_[static_cast<size_t>(symbols[i].id)].first;
      if (joints_.find(static_cast<int32_t>(left), static_cast<int32_t>(right)).rank >= 0) continue;
    }
    merge(std::span(symbols).subspan(begin, i - begin));
    begin = i;
  }
}

void Bpe::merge(std::span<Symbol> symbols) const {
  const auto count = static_cast<int32_t>(symbols.size());
  if (count < 2) return;
  std::vector<Candidate> heap;
  heap.reserve(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)].previous = i - 1;
    symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
    if (i + 1 == count) break;
    const Merge rule =
        merges_.find(symbols[static_cast<size_t>(i)].id, symbols[static_cast<size_t>(i) + 1].id);
    if (rule.rank >= 0) heap.push_back({rule.rank, i, rule.id});
  }
  std::make_heap(heap.begin(), heap.end());
  const auto offer = [&](int32_t left, int32_t right) {
    const Merge rule =
        merges_.find(symbols[static_cast<size_t>(left)].id, symbols[static_cast<size_t>(right)].id);
    if (rule.rank < 0) return;
    heap.push_back({rule.rank, left, rule.id});
    std::push_heap(heap.begin(), heap.end());
  };
  while (!heap.empty()) {
    const Candidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    Symbol& left = symbols[static_cast<size_t>(top.position)];
    if (!left.alive || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Merge rule = merges_.find(left.id, right.id);
    if (rule.rank < 0 || rule.id != top.id) continue;
    left.id = top.id;
    right.alive = false;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.position;
    if (left.previous >= 0) offer(left.previous, top.position);
    if (left.next >= 0) offer(top.position, left.next);
  }
}

/// Where merges can happen at all: code points that stand at the seam of a merge.
PairTable collect_joints(const ModelTables& tables, const Options& options) {
  PairTable joints(tables.merges.size());
  for (const auto& [left, right] : tables.merges) {
    const size_t skip = right.starts_with(options.prefix) ? options.prefix.size() : 0;
    const char32_t first = decode_at(right, skip).value;
    joints.set(static_cast<int32_t>(last_code_point(left)), static_cast<int32_t>(first), {0, 0});
    if (skip > 0)
      joints.set(static_cast<int32_t>(last_code_point(left)), static_cast<int32_t>(decode_at(right, 0).value),
                 {0, 0});
  }
  return joints;
}

PairTable read_merges(const JsonField& field, const ModelTables& tables, const Options& options) {
  PairTable table(tables.merges.size());
  int32_t rank = 0;
  for (const auto& [left, right] : tables.merges) {
    const int32_t left_id = tables.vocab.find(left);
    const int32_t right_id = tables.vocab.find(right);
    const std::string tail = right.starts_with(options.prefix) ? right.substr(options.prefix.size()) : right;
    const int32_t merged = tables.vocab.find(left + tail);
    if (left_id < 0 || right_id < 0 || merged < 0) {
      const std::string& missing = left_id < 0 ? left : right_id < 0 ? right : left + tail;
      fail_input({.what = fmt::format("merge needs the token \"{}\", which the vocabulary lacks", missing),
                  .where = fmt::format("{}.merges[{}]", field.where, rank),
                  .value = left + " " + right,
                  .fix = "the file is damaged or edited; fetch it again"});
    }
    table.set(left_id, right_id, {rank, merged});
    ++rank;
  }
  return table;
}

}  // namespace

std::unique_ptr<Model> read_bpe(const JsonField& field, ModelTables tables) {
  if (field.has("dropout") && *field.at("dropout").value != 0) {
    field.at("dropout").broken("BPE dropout is not supported: equal texts must give equal ids",
                               "set it to null");
  }
  Options options;
  options.prefix = field.string_or("continuing_subword_prefix", "");
  options.suffix = field.string_or("end_of_word_suffix", "");
  options.fuse_unknown = field.boolean_or("fuse_unk", false);
  options.byte_fallback = field.boolean_or("byte_fallback", false);
  options.ignore_merges = field.boolean_or("ignore_merges", false);
  if (field.has("unk_token")) {
    options.unknown = tables.vocab.find(field.at("unk_token").string());
    if (options.unknown < 0) field.at("unk_token").broken("this token is not in the vocabulary");
  }
  PairTable merges = read_merges(field, tables, options);
  PairTable joints = collect_joints(tables, options);
  return std::make_unique<Bpe>(std::move(tables.vocab), std::move(merges), std::move(joints),
                               std::move(options));
}

}  // namespace verlc::text
