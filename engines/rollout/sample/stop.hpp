// When a response ends: at an id of its stop set, or when its text completes a stop string.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

/// Turns the tokens of one response into text as far as it is final; a character is never split.
class TextStream {
 public:
  virtual ~TextStream() = default;
  virtual std::string push(int32_t token) = 0;
};

/// The state of one response. Empty text streams are fine when there is no stop string.
class StopMatcher {
 public:
  StopMatcher() = default;
  /// model_stop_ids (the model's end-of-sequence ids) are left out with ignore_eos; sampling.stop_ids always
  /// count.
  StopMatcher(const Sampling& sampling, std::span<const int32_t> model_stop_ids,
              std::unique_ptr<TextStream> text);

  /// Takes the next sampled token; true when it ends the response, as its last token. Neither ids nor strings
  /// end it before min_new_tokens tokens. A stop string may begin in earlier tokens.
  bool push(int32_t token);

  /// All ids that end the response, ascending; they are not sampled while must_continue().
  [[nodiscard]] const std::vector<int32_t>& ids() const { return ids_; }
  /// True while fewer than min_new_tokens - 1 tokens are there, so that the next one may not be the last.
  [[nodiscard]] bool must_continue() const { return num_tokens_ + 1 < min_tokens_; }

 private:
  bool completes_string(std::string_view text);

  std::vector<int32_t> ids_;
  std::vector<std::string> strings_;
  std::unique_ptr<TextStream> text_;
  std::string tail_;  // what a longer match may still need
  size_t longest_ = 0;
  int64_t num_tokens_ = 0;
  int64_t min_tokens_ = 0;
};

}  // namespace verlc::rollout
