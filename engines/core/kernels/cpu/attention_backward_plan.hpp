// How the attention backward is cut into parts that run side by side. Everything follows from the lengths
// alone, so that sums have one order for every thread count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_block.hpp"

namespace verlc::kernels {

/// Keys [begin, end) of one segment as a part's queries see them: `position` is that of the segment's first
/// key in the queries' sequence, begin and end count from that key. begin is a multiple of kKeyGroup.
struct KeySpan {
  int64_t segment = -1;
  int64_t position = 0;
  int64_t begin = 0, end = 0;

  [[nodiscard]] int64_t keys() const { return end - begin; }
};

/// Some adjacent queries of a segment, the heads of one kv head.
struct BackwardPart {
  int64_t segment = 0, kv_head = 0;
  int64_t first_query = 0, num_queries = 0;  ///< counted from the segment's first token
  KeySpan spans[2];                          ///< the parent's keys, then the segment's own
  int64_t sums[2] = {};  ///< floats from the start of the partial sums to the two spans' dk; dv follows dk
  bool alone = false;    ///< no other part adds to the keys of its own span
  int64_t cost = 0;      ///< about rows x keys
};

/// One part's addition to the keys of a segment and kv head.
struct SpanSum {
  int64_t segment = 0, kv_head = 0;
  size_t part = 0;
  int span = 0;
};

/// Keys per segment lie padded to whole lane groups, so a segment's packed keys start at key_start[s].
struct BackwardPlan {
  std::vector<BackwardPart> parts;  ///< by segment, then queries
  std::vector<size_t> order;        ///< of parts, the costly ones first
  std::vector<SpanSum> sums;        ///< by segment and kv head, each in the order of parts
  std::vector<size_t> sum_begin;    ///< where a segment and kv head starts in `sums`, and the end
  std::vector<int64_t> key_start;   ///< [S]
  int64_t num_keys = 0;             ///< packed keys of all segments
  int64_t sum_floats = 0;           ///< floats of all partial sums
  int64_t width = 0;                ///< head_dim padded to whole lane groups

  /// Floats of one kv head's packed keys: keys, transposed keys, transposed values.
  [[nodiscard]] int64_t packed_floats() const { return 3 * num_keys * width; }
};

BackwardPlan plan_attention_backward(const AttentionShape& shape, const PackedLayout& layout);

}  // namespace verlc::kernels
