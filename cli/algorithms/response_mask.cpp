#include "algorithms/response_mask.hpp"

#include <algorithm>

namespace verlc {

ResponseEnd find_response_end(std::span<const int32_t> ids, std::span<const int32_t> stops) {
  const auto stop = std::find_first_of(ids.begin(), ids.end(), stops.begin(), stops.end());
  if (stop == ids.end()) return {.length = ids.size(), .truncated = true};
  return {.length = static_cast<size_t>(stop - ids.begin()) + 1, .truncated = false};
}

std::vector<uint8_t> response_mask(std::span<const int32_t> ids, std::span<const int32_t> stops) {
  std::vector<uint8_t> mask(ids.size(), 0);
  std::fill_n(mask.begin(), find_response_end(ids, stops).length, uint8_t{1});
  return mask;
}

}  // namespace verlc
