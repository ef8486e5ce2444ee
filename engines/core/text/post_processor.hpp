// The "post_processor" part of tokenizer.json: which special tokens surround a text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/text/json_field.hpp"

namespace verlc::text {

/// Adds special tokens around the ids of one text. Immutable; safe to use from many threads.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  [[nodiscard]] virtual std::vector<int32_t> apply(std::vector<int32_t> ids) const = 0;
};

/// Builds the part; null and parts that only move offsets give nullptr. `is_token(id)` tells which ids exist:
/// an id that names no token is an Error(input).
std::unique_ptr<PostProcessor> read_post_processor(const JsonField& field,
                                                   const std::function<bool(int32_t)>& is_token);

}  // namespace verlc::text
