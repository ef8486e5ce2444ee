#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

constexpr size_t kMostDepth = 200;

// Builds the value from parse events. The library's own builder would keep the last of equal keys silently
// and knows no limit of depth.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Json& object = *stack_.back();
    const auto [member, is_new] = object.get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) {
      fail_input({.what = "the key stands twice in one JSON object",
                  .where = where_,
                  .value = quote_text(name),
                  .fix = "keep one of them"});
    }
    slot_ = &member->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view before = text_.substr(0, std::min(position > 0 ? position - 1 : 0, text_.size()));
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
    fail_input({.what = "malformed JSON: " + reason(error.what()),
                .where = fmt::format("{}:{}:{}", where_, line, before.size() - start + 1),
                .value = {},
                .fix = {}});
  }

 private:
  // The library's message without its own prefix and position.
  static std::string reason(std::string_view message) {
    const size_t bracket = message.find("] ");
    if (bracket != std::string_view::npos) message.remove_prefix(bracket + 2);
    const size_t colon = message.find(": ");
    if (message.starts_with("parse error at") && colon != std::string_view::npos)
      message.remove_prefix(colon + 2);
    std::string text(message.substr(0, 200));
    if (message.size() > text.size()) text += "...";
    return text;
  }

  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      return &stack_.back()->back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  bool put(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (stack_.size() >= kMostDepth) {
      fail_input({.what = fmt::format("JSON is nested over {} levels", kMostDepth),
                  .where = where_,
                  .value = {},
                  .fix = {}});
    }
    stack_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string where_;
  Json root_;
  std::vector<Json*> stack_;
  Json* slot_ = nullptr;
};

}  // namespace

Json parse_json_text(std::string_view text, const std::string& where) {
  Builder builder(text, where);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json_file(const std::filesystem::path& path, uint64_t max_bytes) {
  std::error_code unknown;
  const uint64_t size = std::filesystem::file_size(path, unknown);
  if (!unknown && size > max_bytes) {
    fail_input({.what = fmt::format("the file is larger than {} bytes", max_bytes),
                .where = path.string(),
                .value = std::to_string(size),
                .fix = {}});
  }
  return parse_json_text(read_file(path), path.string());
}

Json read_json_object(const std::filesystem::path& path) {
  Json value = read_json_file(path);
  if (!value.is_object()) {
    fail_input({.what = "the file must hold one JSON object",
                .where = path.string(),
                .value = shown(value),
                .fix = {}});
  }
  return value;
}

}  // namespace verlc::hf
