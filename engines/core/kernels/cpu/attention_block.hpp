// Inside of the attention forward: one block of rows, a row being one head of one query.
#pragma once

#include <algorithm>

#include "core/kernels/cpu/attention.hpp"

namespace verlc::kernels {

inline constexpr int64_t kMaxHeadDim = 1024;
/// Floats of a block's q and of its output, both on the stack of the thread.
inline constexpr int64_t kBlockFloats = 12 * 1024;
inline constexpr int64_t kMostBlockRows = 96;

constexpr int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

constexpr int64_t attention_block_rows(int64_t head_dim) {
  return std::min(kMostBlockRows, kBlockFloats / round_up(head_dim, kKeyGroup));
}

/// Rows [first, first + count) of a sequence and kv head: row i is head i % group of query i / group.
struct AttentionBlock {
  const AttentionShape* shape;
  const AttentionSequence* sequence;
  int64_t kv_head, first, count;
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
