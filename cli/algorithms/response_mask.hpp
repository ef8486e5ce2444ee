// Where a response ends, decided by its own ids, never by decoded text and never by a padding id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verlc {

struct ResponseEnd {
  size_t length = 0;      ///< tokens that belong to the response, the stop token included
  bool truncated = true;  ///< no stop token: the length limit ended it
};

/// Through the first id that is among `stops` (the union of the tokenizer's, the config's and the generation
/// config's end ids), inclusive; the whole of `ids` when there is none (traps T11, B7, B8).
ResponseEnd find_response_end(std::span<const int32_t> ids, std::span<const int32_t> stops);

/// Loss mask [ids.size()]: 1 on the response, its stop token included, 0 behind it. Later tokens equal to a
/// stop id (padding) stay out, earlier tokens equal to nothing but themselves stay in.
std::vector<uint8_t> response_mask(std::span<const int32_t> ids, std::span<const int32_t> stops);

}  // namespace verlc
