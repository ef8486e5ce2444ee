// Where the keys and values of packed segments lie while the forward reads them: in pages, so that segments
// with one parent read its full pages in place.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/cpu/attention.hpp"

namespace verlc::kernels {

/// Positions of a page of segments that share; one key block.
inline constexpr int64_t kSharedPage = kKeyBlock;

/// A segment with neither parent nor children has one page as long as itself. The others have pages of
/// kSharedPage positions: a child's table starts with its parent's full pages, the parent's last partial page
/// is copied for each child, and the child's own positions follow.
class PackedPages {
 public:
  /// Plans the tables; `layout`'s arrays must outlive this object.
  PackedPages(const AttentionShape& shape, const PackedLayout& layout);

  /// Floats of the memory for all keys, and the same again for all values.
  [[nodiscard]] size_t floats() const { return static_cast<size_t>(floats_); }

  /// Copies k, v [T, num_kv_heads, head_dim] into the memory, which the tables then point to.
  void fill(Executor& threads, const float* k, const float* v, float* k_memory, float* v_memory);

  /// The forward's work after fill(): q, out [T, num_heads, head_dim], lse [T, num_heads]. Points into this
  /// object.
  [[nodiscard]] std::vector<AttentionSequence> sequences(const float* q, float* out, float* lse) const;

 private:
  struct Table {
    size_t first = 0;       ///< entry in the page lists
    int64_t page_size = 0;  ///< positions
    int64_t shared = 0;     ///< leading pages that are the parent's
    int64_t count = 0;      ///< pages
  };
  /// Segment s's own tokens [first, first + count), and with the first of them the parent's partial page.
  void write_tokens(size_t s, int64_t first, int64_t count, const float* k, const float* v);

  AttentionShape shape_;
  PackedLayout layout_;
  std::vector<Table> tables_;     ///< of each segment
  std::vector<int64_t> offsets_;  ///< of each entry, in floats
  int64_t floats_ = 0;
  std::vector<float*> k_pages_, v_pages_;
};

}  // namespace verlc::kernels
