// Rows that are too long for the recipe: left out, or an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"
#include "data/prompt_dataset.hpp"
#include "data/sft_dataset.hpp"

namespace verlc {

struct LengthLimit {
  int64_t most = 0;                            ///< tokens
  std::string key = "data.max_prompt_length";  ///< recipe key that sets it
  bool filter = false;  ///< data.filter_overlong_prompts; false: an overlong row is an error
};

/// `lengths[i]` is the number of tokens of row i. With `filter`, removes longer rows and returns how many;
/// Error(input) when none is left. Without, Error(input) naming file:line, length, limit and the key to
/// change for the first such row, with up to 5 more.
size_t limit_lengths(PromptDataset& dataset, std::span<const int64_t> lengths, const LengthLimit& limit);
size_t limit_lengths(SftDataset& dataset, std::span<const int64_t> lengths, const LengthLimit& limit);

}  // namespace verlc
