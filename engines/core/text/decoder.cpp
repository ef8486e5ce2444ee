#include "core/text/decoder.hpp"

#include <vector>

#include "core/text/byte_level.hpp"
#include "core/text/pattern.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

constexpr std::string_view kSupported = "ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace, Sequence";

/// A step whose states are made by a function.
template <typename Make>
class MadeDecoder : public Decoder {
 public:
  explicit MadeDecoder(Make make) : make_(std::move(make)) {}
  [[nodiscard]] std::unique_ptr<DecodeState> start() const override { return make_(); }

 private:
  Make make_;
};

template <typename Make>
std::unique_ptr<Decoder> made(Make make) {
  return std::make_unique<MadeDecoder<Make>>(std::move(make));
}

class PassState : public DecodeState {
 public:
  void push(std::string_view token, const TokenSink& sink) override { sink(token); }
};

class JoinState : public DecodeState {
 public:
  void push(std::string_view token, const TokenSink& sink) override {
    if (!first_) sink(" ");
    first_ = false;
    sink(token);
  }

 private:
  bool first_ = true;
};

class ByteLevelState : public DecodeState {
 public:
  void push(std::string_view token, const TokenSink& sink) override {
    append_bytes(pending_, token);
    const size_t ready = pending_.size() - incomplete_tail(pending_);
    if (ready == 0) return;
    sink(to_valid_utf8(std::string_view(pending_).substr(0, ready)));
    pending_.erase(0, ready);
  }
  void finish(const TokenSink& sink) override {
    if (!pending_.empty()) sink(to_valid_utf8(pending_));
    pending_.clear();
  }

 private:
  std::string pending_;
};

/// The value of a token "<0xAB>", or -1.
int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// A run of byte tokens is text when all of it is well-formed, else one U+FFFD per byte; so it is final only
/// when the run ends.
class ByteFallbackState : public DecodeState {
 public:
  void push(std::string_view token, const TokenSink& sink) override {
    const int byte = byte_of_token(token);
    if (byte >= 0) {
      run_.push_back(static_cast<char>(byte));
      return;
    }
    finish(sink);
    sink(token);
  }
  void finish(const TokenSink& sink) override {
    if (run_.empty()) return;
    if (is_valid_utf8(run_)) {
      sink(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) sink("\uFFFD");
    }
    run_.clear();
  }

 private:
  std::string run_;
};

class MetaspaceState : public DecodeState {
 public:
  MetaspaceState(std::string mark, bool drop_first) : mark_(std::move(mark)), drop_(drop_first) {}
  void push(std::string_view token, const TokenSink& sink) override {
    std::string out;
    for (size_t i = 0; i < token.size();) {
      if (token.substr(i).starts_with(mark_)) {
        if (!drop_) out += ' ';
        i += mark_.size();
      } else {
        out += token[i++];
      }
    }
    drop_ = false;
    sink(out);
  }

 private:
  std::string mark_;
  bool drop_;
};

class ReplaceState : public DecodeState {
 public:
  ReplaceState(std::shared_ptr<const Pattern> pattern, std::string with)
      : pattern_(std::move(pattern)), with_(std::move(with)) {}
  void push(std::string_view token, const TokenSink& sink) override {
    sink(pattern_->replace_all(token, with_));
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  std::string with_;
};

/// Cuts up to `start` leading and `stop` trailing copies of one character from the stream taken as one
/// string.
class StripState : public DecodeState {
 public:
  StripState(std::string content, size_t start, size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void push(std::string_view token, const TokenSink& sink) override {
    while (start_ > 0 && !token.empty()) {
      if (!token.starts_with(content_)) {
        start_ = 0;
        break;
      }
      token.remove_prefix(content_.size());
      --start_;
    }
    if (token.empty()) return;
    held_ += token;
    size_t ready = held_.size();
    for (size_t i = 0; i < stop_ && std::string_view(held_).substr(0, ready).ends_with(content_); ++i) {
      ready -= content_.size();
    }
    if (ready == 0) return;
    sink(std::string_view(held_).substr(0, ready));
    held_.erase(0, ready);
  }
  void finish(const TokenSink&) override { held_.clear(); }

 private:
  std::string content_;
  size_t start_;
  size_t stop_;
  std::string held_;
};

/// Runs a fresh inner state for each token: the step sees every token as a string of its own.
class PerTokenState : public DecodeState {
 public:
  explicit PerTokenState(std::shared_ptr<const Decoder> inner) : inner_(std::move(inner)) {}
  void push(std::string_view token, const TokenSink& sink) override {
    std::string out;
    const TokenSink collect = [&](std::string_view part) { out += part; };
    const auto state = inner_->start();
    state->push(token, collect);
    state->finish(collect);
    sink(out);
  }

 private:
  std::shared_ptr<const Decoder> inner_;
};

/// Holds a fused stream back and shows it to the inner step as one token at the end.
class HoldState : public DecodeState {
 public:
  explicit HoldState(std::unique_ptr<DecodeState> inner) : inner_(std::move(inner)) {}
  void push(std::string_view token, const TokenSink&) override { held_ += token; }
  void finish(const TokenSink& sink) override {
    inner_->push(held_, sink);
    inner_->finish(sink);
    held_.clear();
  }

 private:
  std::unique_ptr<DecodeState> inner_;
  std::string held_;
};

std::unique_ptr<Decoder> hold(std::shared_ptr<const Decoder> inner) {
  return made([inner] { return std::make_unique<HoldState>(inner->start()); });
}

class ChainState : public DecodeState {
 public:
  explicit ChainState(std::vector<std::unique_ptr<DecodeState>> states) : states_(std::move(states)) {}
  void push(std::string_view token, const TokenSink& sink) override { push_from(0, token, sink); }
  void finish(const TokenSink& sink) override {
    for (size_t i = 0; i < states_.size(); ++i) {
      states_[i]->finish([&](std::string_view part) { push_from(i + 1, part, sink); });
    }
  }

 private:
  void push_from(size_t index, std::string_view token, const TokenSink& sink) {
    if (index == states_.size()) {
      sink(token);
      return;
    }
    states_[index]->push(token, [&](std::string_view part) { push_from(index + 1, part, sink); });
  }

  std::vector<std::unique_ptr<DecodeState>> states_;
};

std::unique_ptr<Decoder> read_step(const JsonField& field, bool& fused);

std::unique_ptr<Decoder> read_sequence(const JsonField& field, bool& fused) {
  auto steps = std::make_shared<std::vector<std::unique_ptr<Decoder>>>();
  const JsonField list = field.at("decoders");
  for (size_t i = 0; i < list.size(); ++i) steps->push_back(read_step(list.at(i), fused));
  return made([steps] {
    std::vector<std::unique_ptr<DecodeState>> states;
    for (const auto& step : *steps) states.push_back(step->start());
    return std::make_unique<ChainState>(std::move(states));
  });
}

std::unique_ptr<Decoder> read_strip(const JsonField& field, bool fused) {
  const std::string content = field.at("content").string();
  if (count_code_points(content) != 1) field.at("content").broken("must be one character");
  const auto start = static_cast<size_t>(field.integer_or("start", 0, 0, 1'000'000));
  const auto stop = static_cast<size_t>(field.integer_or("stop", 0, 0, 1'000'000));
  auto whole = made([=] { return std::make_unique<StripState>(content, start, stop); });
  if (fused) return whole;
  std::shared_ptr<const Decoder> inner = std::move(whole);
  return made([inner] { return std::make_unique<PerTokenState>(inner); });
}

std::unique_ptr<Decoder> read_replace(const JsonField& field, bool fused) {
  auto pattern = std::make_shared<const Pattern>(field.at("pattern"));
  auto step = made([pattern, content = field.at("content").string()] {
    return std::make_unique<ReplaceState>(pattern, content);
  });
  return fused && !pattern->is_one_code_point() ? hold(std::move(step)) : std::move(step);
}

std::unique_ptr<Decoder> read_metaspace(const JsonField& field) {
  const std::string mark = field.string_or("replacement", "\u2581");
  if (count_code_points(mark) != 1) field.at("replacement").broken("must be one character");
  const bool prefix = field.boolean_or("add_prefix_space", true);
  const bool drop = field.has("prepend_scheme") ? field.at("prepend_scheme").string() != "never" : prefix;
  return made([mark, drop] { return std::make_unique<MetaspaceState>(mark, drop); });
}

std::unique_ptr<Decoder> read_step(const JsonField& field, bool& fused) {
  const std::string type = field.type();
  if (type == "Sequence") return read_sequence(field, fused);
  if (type == "Replace") return read_replace(field, fused);
  if (type == "Strip") return read_strip(field, fused);
  const bool was_fused = fused;
  std::unique_ptr<Decoder> step;
  if (type == "Fuse") {
    fused = true;
    return made([] { return std::make_unique<PassState>(); });
  }
  if (type == "ByteLevel") {
    step = made([] { return std::make_unique<ByteLevelState>(); });
    fused = true;
  } else if (type == "ByteFallback") {
    step = made([] { return std::make_unique<ByteFallbackState>(); });
  } else if (type == "Metaspace") {
    step = read_metaspace(field);
  } else {
    field.unsupported("decoder", kSupported);
  }
  return was_fused ? hold(std::move(step)) : std::move(step);
}

}  // namespace

std::unique_ptr<Decoder> read_decoder(const JsonField& field) {
  if (field.value->is_null()) {
    return made([] { return std::make_unique<JoinState>(); });
  }
  bool fused = false;
  return read_step(field, fused);
}

}  // namespace verlc::text
