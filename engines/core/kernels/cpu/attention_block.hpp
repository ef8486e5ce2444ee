// Inside of the attention kernels: blocks of rows, a row being one head of one query.
#pragma once

#include <algorithm>

#include "core/kernels/cpu/attention.hpp"

namespace verlc::kernels {

inline constexpr int64_t kMaxHeadDim = 1024;
/// Floats of a block's q and of its output, both on the stack of the thread.
inline constexpr int64_t kBlockFloats = 12 * 1024;
inline constexpr int64_t kMostBlockRows = 96;
/// Rows that pass over a key block together, so that it comes to the first cache once for several register
/// tiles.
inline constexpr int64_t kPanelRows = 24;

constexpr int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

constexpr int64_t attention_block_rows(int64_t head_dim) {
  return std::min(kMostBlockRows, kBlockFloats / round_up(head_dim, kKeyGroup));
}

/// Rows of one kv head: rows [first, first + count) of one sequence, row i being head i % group of query
/// i / group; or of several sequences with one query each, row i belonging to sequence i / group.
struct AttentionBlock {
  const AttentionShape* shape;
  const AttentionSequence* sequences;
  int64_t num_sequences;
  int64_t shared;  ///< leading keys that lie in the same pages for all sequences and that every row sees
  int64_t kv_head, first, count;

  [[nodiscard]] int64_t group() const { return shape->num_heads / shape->num_kv_heads; }
  [[nodiscard]] const AttentionSequence& sequence_of(int64_t row) const {
    return sequences[num_sequences == 1 ? 0 : (first + row) / group()];
  }
  /// Calls visit(row, sequence, query, head) for every row, without a division each.
  template <typename F>
  void for_each_row(F&& visit) const {
    const int64_t heads = group();
    int64_t quotient = first / heads;
    int64_t rest = first % heads;
    for (int64_t row = 0; row < count; ++row) {
      const bool one = num_sequences == 1;
      visit(row, sequences[one ? 0 : quotient], one ? quotient : 0, kv_head * heads + rest);
      if (++rest < heads) continue;
      rest = 0;
      ++quotient;
    }
  }
  /// One past the last row of the sequence that `row` belongs to.
  [[nodiscard]] int64_t sequence_end(int64_t row) const {
    return num_sequences == 1 ? count : std::min(count, ((first + row) / group() + 1) * group() - first);
  }
};

/// Keys [begin, end) visible to the query at `position`.
struct KeyRange {
  int64_t begin, end;
};

constexpr KeyRange visible_keys(const AttentionShape& shape, int64_t position) {
  return {shape.window > 0 ? std::max<int64_t>(0, position - shape.window + 1) : 0, position + 1};
}

/// Floats from the start of `q` or `out` to head `head` of query `query`.
constexpr int64_t head_offset(const AttentionShape& shape, int64_t query, int64_t head) {
  return (query * shape.num_heads + head) * shape.head_dim;
}

}  // namespace verlc::kernels
