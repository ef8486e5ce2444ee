// The "decoder" part of tokenizer.json, as a stream: tokens in, final text out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/text/json_field.hpp"

namespace verlc::text {

using TokenSink = std::function<void(std::string_view)>;

/// One run of a decoding step. Not shared between threads; lives no longer than the step that made it.
class DecodeState {
 public:
  virtual ~DecodeState() = default;
  /// Takes one token and hands what is final to `sink`.
  virtual void push(std::string_view token, const TokenSink& sink) = 0;
  /// Ends the stream: hands over what was held back.
  virtual void finish(const TokenSink& sink) { (void)sink; }
};

/// A decoding step. Immutable; safe to use from many threads. What all pushes and the finish give, joined, is
/// what the `tokenizers` library's decoder gives for the whole list.
class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual std::unique_ptr<DecodeState> start() const = 0;
};

/// Builds the part; null joins tokens with spaces. Error(input) names a type that is not supported and those
/// that are.
std::unique_ptr<Decoder> read_decoder(const JsonField& field);

}  // namespace verlc::text
