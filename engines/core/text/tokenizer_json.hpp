// Reading tokenizer.json: the bulk (vocabulary and merges) goes straight into tables, the rest into a small
// tree.
#pragma once

#include <string>
#include <string_view>

#include "core/text/json_field.hpp"
#include "core/text/model.hpp"

namespace verlc::text {

struct TokenizerJson {
  Json tree;           ///< everything but model.vocab and model.merges
  ModelTables tables;  ///< those two; the vocabulary is built
};

/// Error(input) naming `where` for malformed JSON, a vocabulary that is not {token: id}, merges that are not
/// pairs, ids that lie.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& where);

}  // namespace verlc::text
