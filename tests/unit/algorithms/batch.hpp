// A packed batch that owns its bounds and mask, for tests.
#pragma once

#include <vector>

#include "algorithms/packed.hpp"

namespace verlc::test {

struct Batch {
  std::vector<int64_t> cu_seqlens = {0};
  std::vector<uint8_t> mask;

  Batch() = default;
  explicit Batch(const std::vector<std::vector<uint8_t>>& masks) {
    for (const auto& row : masks) {
      mask.insert(mask.end(), row.begin(), row.end());
      cu_seqlens.push_back(static_cast<int64_t>(mask.size()));
    }
  }
  [[nodiscard]] PackedLayout layout() const { return {.cu_seqlens = cu_seqlens, .mask = mask}; }
};

/// One loss token per sample.
inline Batch one_token_samples(size_t samples) {
  return Batch(std::vector<std::vector<uint8_t>>(samples, {1}));
}

}  // namespace verlc::test
