#include "core/hf/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

constexpr size_t kMostDims = 32;

// Follows the one shape that a header has: {name: {dtype, shape: [..], data_offsets: [b, e]}} beside
// {"__metadata__": {string: string}}. Whatever else comes is refused where it stands.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(std::string where) : where_(std::move(where)) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { return misplaced("null"); }
  bool boolean(bool) override { return misplaced("true or false"); }
  bool number_integer(number_integer_t value) override { return misplaced(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return misplaced(text.substr(0, 40)); }
  bool binary(binary_t&) override { return misplaced("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::shape) {
      if (value > uint64_t{std::numeric_limits<int64_t>::max()}) fail("a dimension is too large", value);
      if (entry_.shape.size() == kMostDims) fail(fmt::format("the shape has over {} dimensions", kMostDims));
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (state_ == State::offsets && num_offsets_ < 2) {
      (num_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
      return true;
    }
    return misplaced(std::to_string(value));
  }

  bool string(string_t& value) override {
    if (state_ == State::metadata) {
      if (!header_.metadata.emplace(key_, std::move(value)).second)
        fail("the key stands twice", quote_text(key_));
      return true;
    }
    if (state_ == State::tensor && key_ == "dtype") {
      take_type(value);
      return true;
    }
    return misplaced(quote_text(value));
  }

  bool start_object(size_t) override {
    if (state_ == State::start) {
      state_ = State::top;
    } else if (state_ == State::top && key_ == "__metadata__") {
      if (std::exchange(has_metadata_, true)) fail("__metadata__ stands twice");
      state_ = State::metadata;
    } else if (state_ == State::top) {
      state_ = State::tensor;
      entry_ = {.name = key_, .type = {}, .shape = {}, .begin = 0, .end = 0};
      seen_ = {};
    } else {
      return misplaced("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::tensor) finish_tensor();
    state_ = state_ == State::top ? State::done : State::top;
    return true;
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    if (state_ == State::top) {
      if (key_ != "__metadata__" && !names_.insert(key_).second)
        fail("the tensor stands twice", quote_text(key_));
    } else if (state_ == State::tensor) {
      bool* seen = key_ == "dtype"          ? &seen_.dtype
                   : key_ == "shape"        ? &seen_.shape
                   : key_ == "data_offsets" ? &seen_.offsets
                                            : nullptr;
      if (seen == nullptr)
        fail("the entry has a key that is not dtype, shape or data_offsets", quote_text(key_));
      if (std::exchange(*seen, true)) fail("the entry has a key twice", quote_text(key_));
    }
    return true;
  }

  bool start_array(size_t) override {
    if (state_ == State::tensor && key_ == "shape") {
      state_ = State::shape;
    } else if (state_ == State::tensor && key_ == "data_offsets") {
      state_ = State::offsets;
      num_offsets_ = 0;
    } else {
      return misplaced("a list");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::offsets && num_offsets_ != 2) fail("data_offsets must be two numbers");
    state_ = State::tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail_input({.what = "the safetensors header is malformed JSON",
                .where = where_,
                .value = fmt::format("byte {} of the header", position),
                .fix = "the file is damaged or no safetensors file; fetch it again"});
  }

 private:
  enum class State { start, top, metadata, tensor, shape, offsets, done };
  struct Seen {
    bool dtype = false, shape = false, offsets = false;
  };

  // Inside a tensor's entry messages name it.
  [[nodiscard]] std::string place() const {
    const bool inside = state_ == State::tensor || state_ == State::shape || state_ == State::offsets;
    return inside ? fmt::format("{}: tensor {}", where_, quote_text(entry_.name)) : where_ + ": header";
  }

  [[noreturn]] void fail(std::string what, std::string value = {}) const {
    fail_input({.what = std::move(what), .where = place(), .value = std::move(value), .fix = {}});
  }
  [[noreturn]] void fail(std::string what, uint64_t value) const {
    fail(std::move(what), std::to_string(value));
  }

  [[noreturn]] bool misplaced(std::string value) const {
    switch (state_) {
      case State::start:
        fail("the header must be an object", std::move(value));
      case State::metadata:
        fail("__metadata__ must hold strings only", std::move(value));
      case State::shape:
        fail("shape must be a list of non-negative integers", std::move(value));
      case State::offsets:
        fail("data_offsets must be two non-negative integers", std::move(value));
      case State::tensor:
        fail(fmt::format("{} has a value of the wrong kind", key_), std::move(value));
      default:
        fail(fmt::format("the entry of {} must be an object", quote_text(key_)), std::move(value));
    }
  }

  void take_type(const std::string& name) {
    const std::optional<FileType> type = file_type_of(name);
    if (!type) {
      fail_input({.what = is_unsupported_file_type(name) ? "tensors of this dtype are not supported"
                                                         : "the dtype is not one of the format's",
                  .where = place(),
                  .value = quote_text(name),
                  .fix = "supported: " + supported_file_types()});
    }
    entry_.type = *type;
  }

  void finish_tensor() {
    if (!seen_.dtype || !seen_.shape || !seen_.offsets) {
      fail(fmt::format("the entry has no {}", !seen_.dtype   ? "dtype"
                                              : !seen_.shape ? "shape"
                                                             : "data_offsets"));
    }
    if (entry_.begin > entry_.end) {
      fail("data_offsets end before they begin", fmt::format("[{}, {}]", entry_.begin, entry_.end));
    }
    uint64_t bytes = file_type_size(entry_.type);
    for (const int64_t dim : entry_.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes) ||
          bytes > uint64_t{std::numeric_limits<int64_t>::max()}) {
        fail("the shape's size overflows", to_string(entry_.shape));
      }
    }
    if (bytes != entry_.end - entry_.begin) {
      fail("the shape and the offsets disagree",
           fmt::format("{} {} needs {} bytes, data_offsets [{}, {}] hold {}", file_type_name(entry_.type),
                       to_string(entry_.shape), bytes, entry_.begin, entry_.end, entry_.end - entry_.begin));
    }
    header_.entries.push_back(std::move(entry_));
  }

  std::string where_;
  SafetensorsHeader header_;
  State state_ = State::start;
  std::string key_;
  std::set<std::string> names_;
  HeaderEntry entry_;
  Seen seen_;
  int num_offsets_ = 0;
  bool has_metadata_ = false;
};

// The entries, in order of data, must cover [0, data_bytes) exactly once.
void prove_layout(const std::vector<HeaderEntry>& entries, uint64_t data_bytes, const std::string& where) {
  uint64_t covered = 0;
  const HeaderEntry* before = nullptr;
  for (const HeaderEntry& entry : entries) {
    const std::string place = fmt::format("{}: tensor {}", where, quote_text(entry.name));
    const std::string offsets = fmt::format("data_offsets [{}, {}]", entry.begin, entry.end);
    if (entry.end > data_bytes) {
      fail_input({.what = fmt::format(
                      "the tensor lies beyond the end of the file, which holds {} bytes of data", data_bytes),
                  .where = place,
                  .value = offsets,
                  .fix = "the file is truncated or damaged; fetch it again"});
    }
    if (entry.begin < covered) {
      fail_input({.what = fmt::format("the tensor's data overlaps that of {}", quote_text(before->name)),
                  .where = place,
                  .value = offsets,
                  .fix = {}});
    }
    if (entry.begin > covered) {
      fail_input(
          {.what = fmt::format("bytes [{}, {}) before the tensor belong to none", covered, entry.begin),
           .where = place,
           .value = offsets,
           .fix = {}});
    }
    covered = entry.end;
    before = &entry;
  }
  if (covered != data_bytes) {
    fail_input({.what = fmt::format("{} bytes behind the last tensor belong to none", data_bytes - covered),
                .where = where,
                .value = {},
                .fix = {}});
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                           const std::string& where) {
  HeaderReader reader(where);
  Json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  std::sort(header.entries.begin(), header.entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  prove_layout(header.entries, data_bytes, where);
  return header;
}

}  // namespace verlc::hf
