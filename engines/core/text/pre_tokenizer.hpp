// The "pre_tokenizer" part of tokenizer.json.
#pragma once

#include <memory>

#include "core/text/json_field.hpp"
#include "core/text/segments.hpp"

namespace verlc::text {

/// Cuts a normalized text into the words that the model merges inside. Immutable; safe to use from many
/// threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Segments& segments) const = 0;
};

/// Builds the part; null gives nullptr. Error(input) names a type that is not supported and those that are.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonField& field);

}  // namespace verlc::text
