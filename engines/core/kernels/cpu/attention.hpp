// Causal grouped-query attention with a running softmax. Each query walks its keys in blocks of kKeyBlock
// aligned to position 0, with the same arithmetic for one query (decode) and many (prefill, training), and
// for every page size: the result for a token depends only on q, and on k and v of its own sequence up to its
// own position.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/executor.hpp"
#include "core/kernels/cpu/packed_layout.hpp"

namespace verlc::kernels {

/// Keys per softmax block and per lane group of the K layout. Page sizes are multiples of kKeyGroup.
inline constexpr int64_t kKeyBlock = 128;
inline constexpr int64_t kKeyGroup = 16;

struct AttentionShape {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t window = 0;  ///< keys visible to a query, itself included; 0 = all
  float scale = 0;     ///< multiplies q.k, usually 1 / sqrt(head_dim)
};

/// Keys and values of one sequence in one layer, in pages of `page_size` positions.
/// k page: [num_kv_heads][page_size / 16][head_dim][16]; v page: [num_kv_heads][page_size][head_dim].
struct KvPages {
  const float* const* k = nullptr;
  const float* const* v = nullptr;
  int64_t page_size = 0;
};

/// Floats of one k page (and of one v page).
constexpr int64_t kv_page_floats(const AttentionShape& shape, int64_t page_size) {
  return shape.num_kv_heads * shape.head_dim * page_size;
}

/// Queries at positions first_position ... first_position + num_queries - 1 of a sequence whose keys up to
/// the last of them are in `pages`.
struct AttentionSequence {
  const float* q = nullptr;  ///< [num_queries, num_heads, head_dim]
  float* out = nullptr;      ///< same shape
  float* lse =
      nullptr;  ///< [num_queries, num_heads] log-sum-exp of the scaled scores, for the backward; may be null
  int64_t num_queries = 0;
  int64_t first_position = 0;
  KvPages pages;
  /// Leading positions whose pages are also those of the sequence before it in the call: with one query each,
  /// such sequences read them together. It changes the speed only; 0 is always right.
  int64_t shared = 0;
};

/// Writes k, v [count, num_kv_heads, head_dim] to positions first_position ... of the pages.
void write_kv(const AttentionShape& shape, const float* k, const float* v, int64_t count,
              int64_t first_position, float* const* k_pages, float* const* v_pages, int64_t page_size);

/// All sequences at once; work is split over (sequence, head, query block).
void attention_forward(Executor& threads, const AttentionShape& shape,
                       std::span<const AttentionSequence> sequences);

/// Packed training backward. q, out, dout, dq: [T, num_heads, head_dim]; k, v, dk, dv: [T, num_kv_heads,
/// head_dim]; lse: [T, num_heads] from the forward. Writes (does not add to) dq, dk, dv. A parent's dk and dv
/// sum over its own queries, then over those of its children in their order. The reduction order does not
/// depend on the thread count. scratch: attention_backward_scratch_floats() floats, 64-byte aligned.
size_t attention_backward_scratch_floats(const AttentionShape& shape, const PackedLayout& layout);
void attention_backward(Executor& threads, const AttentionShape& shape, const float* q, const float* k,
                        const float* v, const float* out, const float* dout, const float* lse,
                        const PackedLayout& layout, float* dq, float* dk, float* dv, float* scratch);

}  // namespace verlc::kernels
