#include "core/text/tokenizer_json.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace verlc::text {
namespace {

/// Receives the parser's events. Depth counts open containers; the bulk is known by its place: the members
/// "vocab" and "merges" of the member "model" of the root.
class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(TokenizerJson& out, const std::string& where) : out_(out), where_(where) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override {
    if (bulk_ != Bulk::vocab) return value(v);
    if (v > INT32_MAX) refuse("a token id must be an integer from 0 to 2147483647", std::to_string(v));
    out_.tables.vocab.add(key_, static_cast<int32_t>(v));
    return true;
  }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override {
    if (bulk_ != Bulk::merges) return value(std::move(v));
    if (in_pair_) {
      if (num_parts_ >= 2) refuse("a merge must be a pair", v);
      parts_[num_parts_++] = std::move(v);
      return true;
    }
    const size_t space = v.find(' ');
    if (space == std::string::npos || v.find(' ', space + 1) != std::string::npos) {
      refuse("a merge must be two tokens with a space between", v);
    }
    out_.tables.merges.emplace_back(v.substr(0, space), v.substr(space + 1));
    return true;
  }
  bool binary(binary_t&) override { return value(nullptr); }

  bool key(string_t& v) override {
    key_ = std::move(v);
    return true;
  }
  bool start_object(size_t) override {
    if (bulk_ != Bulk::none) refuse_value();
    if (at_bulk("vocab")) {
      bulk_ = Bulk::vocab;
      return true;
    }
    return open(Json::object());
  }
  bool end_object() override { return close(Bulk::vocab); }
  bool start_array(size_t) override {
    if (bulk_ == Bulk::merges && !in_pair_) {
      in_pair_ = true;
      num_parts_ = 0;
      return true;
    }
    if (bulk_ != Bulk::none) refuse_value();
    if (at_bulk("merges")) {
      bulk_ = Bulk::merges;
      return true;
    }
    return open(Json::array());
  }
  bool end_array() override {
    if (in_pair_) {
      if (num_parts_ != 2) refuse("a merge must be a pair", fmt::format("{} parts", num_parts_));
      out_.tables.merges.emplace_back(std::move(parts_[0]), std::move(parts_[1]));
      in_pair_ = false;
      return true;
    }
    return close(Bulk::merges);
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail_input(
        {.what = "malformed JSON", .where = where_, .value = error.what(), .fix = "fetch the file again"});
  }

 private:
  enum class Bulk { none, vocab, merges };
  static constexpr size_t kMostDepth = 200;

  [[noreturn]] void refuse(std::string_view rule, const std::string& value) const {
    fail_input({.what = std::string(rule),
                .where = where_ + (bulk_ == Bulk::vocab ? ": model.vocab" : ": model.merges"),
                .value = value.substr(0, 120),
                .fix = {}});
  }
  [[noreturn]] void refuse_value() const {
    refuse(bulk_ == Bulk::vocab ? "the vocabulary must map tokens to integers"
                                : "a merge must be a pair of tokens",
           key_);
  }
  [[nodiscard]] bool at_bulk(std::string_view name) const {
    return stack_.size() == 2 && stack_[1] == model_ && model_ != nullptr && key_ == name;
  }
  bool value(Json v) {
    if (bulk_ != Bulk::none) refuse_value();
    place(std::move(v));
    return true;
  }
  Json* place(Json v) {
    if (stack_.empty()) {
      out_.tree = std::move(v);
      return &out_.tree;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    return &(parent[key_] = std::move(v));
  }
  bool open(Json v) {
    if (stack_.size() >= kMostDepth) {
      fail_input({.what = "JSON nested over 200 levels", .where = where_, .value = {}, .fix = {}});
    }
    const bool is_model = stack_.size() == 1 && key_ == "model" && v.is_object() && stack_[0]->is_object();
    // Opening a second "model" would move the first; its tables are already taken.
    if (is_model && model_ != nullptr) refuse("the key \"model\" stands twice", key_);
    stack_.push_back(place(std::move(v)));
    if (is_model) model_ = stack_.back();
    return true;
  }
  bool close(Bulk kind) {
    if (bulk_ == kind) {
      bulk_ = Bulk::none;
      return true;
    }
    stack_.pop_back();
    return true;
  }

  TokenizerJson& out_;
  const std::string& where_;
  std::vector<Json*> stack_;
  Json* model_ = nullptr;
  std::string key_;
  Bulk bulk_ = Bulk::none;
  bool in_pair_ = false;
  size_t num_parts_ = 0;
  std::string parts_[2];
};

}  // namespace

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& where) {
  TokenizerJson out;
  Reader reader(out, where);
  Json::sax_parse(text.begin(), text.end(), &reader);
  if (!out.tree.is_object()) {
    fail_input({.what = "tokenizer.json must be an object", .where = where, .value = {}, .fix = {}});
  }
  out.tables.vocab.build(where + ": model.vocab");
  return out;
}

}  // namespace verlc::text
