// The "normalizer" part of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/text/json_field.hpp"

namespace verlc::text {

/// Rewrites a text before it is split. Immutable; safe to use from many threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `text` must be well-formed UTF-8, and so is the result.
  [[nodiscard]] virtual std::string apply(std::string text) const = 0;
};

/// Builds the part; null gives nullptr. Error(input) names a type that is not supported and those that are.
std::unique_ptr<Normalizer> read_normalizer(const JsonField& field);

}  // namespace verlc::text
