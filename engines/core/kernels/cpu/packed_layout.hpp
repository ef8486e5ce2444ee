// Sequences of different lengths in one row of tokens, some of which share their beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verlc::kernels {

/// Segments packed one after another: segment s owns the tokens [cu_seqlens[s], cu_seqlens[s + 1]). With
/// parent[s] >= 0 they continue those of the earlier segment parent[s], which has no parent itself and may be
/// shared by any number of segments. An empty `parent` means that nobody has one.
struct PackedLayout {
  std::span<const int32_t> cu_seqlens;  ///< [S + 1], from 0 to T; may be empty
  std::span<const int32_t> parent;      ///< [S] or empty

  [[nodiscard]] size_t size() const { return cu_seqlens.empty() ? 0 : cu_seqlens.size() - 1; }
  [[nodiscard]] int64_t first(size_t s) const { return cu_seqlens[s]; }
  [[nodiscard]] int64_t length(size_t s) const { return int64_t{cu_seqlens[s + 1]} - cu_seqlens[s]; }
  [[nodiscard]] int64_t parent_of(size_t s) const { return parent.empty() ? -1 : parent[s]; }
  /// Tokens before the segment's own in its sequence.
  [[nodiscard]] int64_t before(size_t s) const {
    return parent_of(s) < 0 ? 0 : length(static_cast<size_t>(parent[s]));
  }
};

/// Which segments are somebody's parent; checks the rules of `parent`.
std::vector<bool> segments_with_children(const PackedLayout& layout);

}  // namespace verlc::kernels
