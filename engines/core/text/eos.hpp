// Which tokens end a response.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/text/tokenizer.hpp"

namespace verlc::text {

/// The union of the eos ids of config.json (also inside text_config), generation_config.json and
/// tokenizer_config.json of a model folder, ascending; each may be absent, an id or a list of ids, the
/// tokenizer's a token or a list of tokens. A response ends at the first of them; that is no truncation.
/// Error(input) when a value is none of these or a token does not exist. Empty when the folder names none.
std::vector<int32_t> read_stop_ids(const std::filesystem::path& folder, const Tokenizer& tokenizer);

}  // namespace verlc::text
