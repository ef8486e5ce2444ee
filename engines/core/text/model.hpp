// The "model" part of tokenizer.json: words to ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/json_field.hpp"
#include "core/text/string_index.hpp"

namespace verlc::text {

/// What the file holds in bulk, read apart from the rest so that loading is fast.
struct ModelTables {
  StringIndex vocab;                                        ///< built
  std::vector<std::pair<std::string, std::string>> merges;  ///< in rank order
};

/// Turns one word into ids. Immutable apart from an internal, locked cache; safe to use from many threads.
class Model {
 public:
  virtual ~Model() = default;
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  [[nodiscard]] virtual const StringIndex& vocab() const = 0;
};

/// Builds the model from its object (without vocab and merges) and its tables. Error(input) names a type that
/// is not supported, a merge whose parts or result are not in the vocabulary, or an unknown token that is
/// missing.
std::unique_ptr<Model> read_model(const JsonField& field, ModelTables tables);

std::unique_ptr<Model> read_bpe(const JsonField& field, ModelTables tables);
std::unique_ptr<Model> read_word_level(const JsonField& field, ModelTables tables);

}  // namespace verlc::text
