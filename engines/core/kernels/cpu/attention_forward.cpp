#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/check.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_block.hpp"
#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/attention_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/attention_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// The rows of a block while they walk over the keys.
struct BlockState {
  alignas(64) float q[kBlockFloats];    ///< [count, head_dim], already multiplied by the scale
  alignas(64) float out[kBlockFloats];  ///< [count, head_dim rounded up to 16]
  float max[kMostBlockRows];
  float sum[kMostBlockRows];
  KeyRange visible[kMostBlockRows];
};

/// Rows [first, first + count) of a block against one key block that starts at position `start`.
struct RowTile {
  const AttentionBlock* block;
  BlockState* state;
  int64_t first;
  int count;
  int64_t start;
  float* scores;  ///< [count, kKeyBlock]

  [[nodiscard]] KeyRange range(int row) const {
    const KeyRange all = state->visible[first + row];
    return {std::max<int64_t>(all.begin - start, 0), std::min(all.end - start, kKeyBlock)};
  }
};

HWY_INLINE void tile_scores(const RowTile& tile) {
  const AttentionShape& shape = *tile.block->shape;
  const KvPages& pages = tile.block->sequence->pages;
  const int64_t begin = tile.range(0).begin / kKeyGroup * kKeyGroup;
  const int64_t end = round_up(tile.range(tile.count - 1).end, kKeyGroup);
  const float* q = tile.state->q + tile.first * shape.head_dim;
  for (int64_t j = begin; j < end;) {
    const int64_t position = tile.start + j;
    const int64_t in_page = position % pages.page_size;
    const int64_t count = std::min(end - j, pages.page_size - in_page);
    const float* k = pages.k[position / pages.page_size] +
                     (tile.block->kv_head * pages.page_size + in_page) * shape.head_dim;
    rows_times_keys(tile.count, q, shape.head_dim, k, shape.head_dim, count / kKeyGroup, tile.scores + j);
    j += count;
  }
}

/// Maximum of scores [begin, end) of a row; lanes outside become -inf.
HWY_INLINE float mask_and_max(float* scores, KeyRange range) {
  const FloatTag d;
  const FloatVec lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  FloatVec best[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) best[v] = lowest;
  for (int64_t j = range.begin / kKeyGroup * kKeyGroup; j < range.end; j += kKeyGroup) {
    const bool whole = j >= range.begin && j + kKeyGroup <= range.end;
    for (int v = 0; v < kStepVecs; ++v) {
      FloatVec s = hn::LoadU(d, scores + j + v * kLanes);
      if (!whole) {
        const FloatVec index = hn::Iota(d, static_cast<float>(j + v * kLanes));
        const auto inside = hn::And(hn::Ge(index, hn::Set(d, static_cast<float>(range.begin))),
                                    hn::Lt(index, hn::Set(d, static_cast<float>(range.end))));
        s = hn::IfThenElse(inside, s, lowest);
        hn::StoreU(s, d, scores + j + v * kLanes);
      }
      best[v] = hn::Max(best[v], s);
    }
  }
  return max_lanes(best);
}

/// scores -> exp(scores - max); returns their sum.
HWY_INLINE float exponentiate(float* scores, KeyRange range, float max) {
  const FloatTag d;
  const FloatVec top = hn::Set(d, max);
  FloatVec acc[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) acc[v] = hn::Zero(d);
  for (int64_t j = range.begin / kKeyGroup * kKeyGroup; j < range.end; j += kKeyGroup) {
    for (int v = 0; v < kStepVecs; ++v) {
      const FloatVec p = exp_softmax(d, hn::Sub(hn::LoadU(d, scores + j + v * kLanes), top));
      hn::StoreU(p, d, scores + j + v * kLanes);
      acc[v] = hn::Add(acc[v], p);
    }
  }
  return sum_lanes(acc);
}

/// The running softmax of each row takes in the block; rows without a visible key are left alone.
HWY_ATTR void tile_softmax(const RowTile& tile) {
  const FloatTag d;
  BlockState& state = *tile.state;
  const int64_t width = round_up(tile.block->shape->head_dim, kKeyGroup);
  alignas(64) float factor[kStep] = {};
  float sums[kAttentionRows] = {};
  // All maxima, then all exponentials: the rows are independent, and so their latencies overlap.
  for (int r = 0; r < tile.count; ++r) {
    const KeyRange range = tile.range(r);
    if (range.begin >= range.end) continue;
    float& max = state.max[tile.first + r];
    const float best = mask_and_max(tile.scores + r * kKeyBlock, range);
    const float top = best > max ? best : max;
    factor[r] = max - top;
    max = top;
  }
  for (int r = 0; r < tile.count; ++r) {
    const KeyRange range = tile.range(r);
    if (range.begin >= range.end) continue;
    sums[r] = exponentiate(tile.scores + r * kKeyBlock, range, state.max[tile.first + r]);
  }
  for (int v = 0; v < kStep; v += kLanes) hn::Store(exp_softmax(d, hn::Load(d, factor + v)), d, factor + v);
  for (int r = 0; r < tile.count; ++r) {
    float& sum = state.sum[tile.first + r];
    sum = sum * factor[r] + sums[r];
    if (factor[r] == 1.0F) continue;
    float* out = state.out + (tile.first + r) * width;
    const FloatVec f = hn::Set(d, factor[r]);
    for (int64_t i = 0; i < width; i += kLanes) hn::Store(hn::Mul(hn::Load(d, out + i), f), d, out + i);
  }
}

/// out += p * v for rows [row, row + count) of the tile and keys [range) of the block.
HWY_ATTR void tile_values(const RowTile& tile, int row, int count, KeyRange range) {
  const AttentionShape& shape = *tile.block->shape;
  const KvPages& pages = tile.block->sequence->pages;
  const int64_t width = round_up(shape.head_dim, kKeyGroup);
  float* out = tile.state->out + (tile.first + row) * width;
  for (int64_t j = range.begin; j < range.end;) {
    const int64_t position = tile.start + j;
    const int64_t in_page = position % pages.page_size;
    const int64_t steps = std::min(range.end - j, pages.page_size - in_page);
    const float* v = pages.v[position / pages.page_size] +
                     (tile.block->kv_head * pages.page_size + in_page) * shape.head_dim;
    rows_times_rows(count, TileA{tile.scores + row * kKeyBlock + j, kKeyBlock, 1}, v, shape.head_dim, steps,
                    shape.head_dim, out, width);
    j += steps;
  }
}

/// tile_values for keys [begin, end) cut to what each row sees; rows that see the same keys go together.
HWY_ATTR void tile_values_each(const RowTile& tile, int64_t begin, int64_t end) {
  const auto cut = [&](int r) HWY_ATTR {
    return KeyRange{std::max(tile.range(r).begin, begin), std::min(tile.range(r).end, end)};
  };
  for (int r = 0; r < tile.count;) {
    const KeyRange range = cut(r);
    int next = r + 1;
    while (next < tile.count && cut(next).begin == range.begin && cut(next).end == range.end) ++next;
    if (range.begin < range.end) tile_values(tile, r, next - r, range);
    r = next;
  }
}

/// Each row takes exactly its visible keys, in order: first those before the keys common to the tile, then
/// the common ones together, then the rest.
HWY_ATTR void tile_output(const RowTile& tile) {
  const KeyRange common{tile.range(tile.count - 1).begin, tile.range(0).end};
  if (common.begin >= common.end) return tile_values_each(tile, 0, kKeyBlock);
  if (common.begin > 0) tile_values_each(tile, 0, common.begin);
  tile_values(tile, 0, tile.count, common);
  if (common.end < kKeyBlock) tile_values_each(tile, common.end, kKeyBlock);
}

HWY_ATTR void load_block(const AttentionBlock& block, BlockState& state) {
  const AttentionShape& shape = *block.shape;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  for (int64_t r = 0; r < block.count; ++r) {
    const int64_t query = (block.first + r) / group;
    const int64_t head = block.kv_head * group + (block.first + r) % group;
    const float* q = block.sequence->q + head_offset(shape, query, head);
    for (int64_t i = 0; i < shape.head_dim; ++i) state.q[r * shape.head_dim + i] = q[i] * shape.scale;
    state.max[r] = -std::numeric_limits<float>::infinity();
    state.sum[r] = 0.0F;
    state.visible[r] = visible_keys(shape, block.sequence->first_position + query);
  }
  const int64_t width = round_up(shape.head_dim, kKeyGroup);
  std::memset(state.out, 0, static_cast<size_t>(block.count * width) * sizeof(float));
}

HWY_ATTR void store_block(const AttentionBlock& block, const BlockState& state) {
  const AttentionShape& shape = *block.shape;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  const int64_t width = round_up(shape.head_dim, kKeyGroup);
  for (int64_t r = 0; r < block.count; ++r) {
    const int64_t query = (block.first + r) / group;
    const int64_t head = block.kv_head * group + (block.first + r) % group;
    float* out = block.sequence->out + head_offset(shape, query, head);
    const float inverse = 1.0F / state.sum[r];
    for (int64_t i = 0; i < shape.head_dim; ++i) out[i] = state.out[r * width + i] * inverse;
    if (block.sequence->lse != nullptr) {
      block.sequence->lse[query * shape.num_heads + head] = state.max[r] + std::log(state.sum[r]);
    }
  }
}

HWY_ATTR void attention_block(const AttentionBlock& block) {
  BlockState state;
  alignas(64) float scores[kAttentionRows * kKeyBlock] = {};
  load_block(block, state);
  const int64_t first_key = state.visible[0].begin / kKeyBlock * kKeyBlock;
  const int64_t last_key = state.visible[block.count - 1].end;
  for (int64_t start = first_key; start < last_key; start += kKeyBlock) {
    for (int64_t r = 0; r < block.count; r += kAttentionRows) {
      const int count = static_cast<int>(std::min<int64_t>(kAttentionRows, block.count - r));
      const RowTile tile{&block, &state, r, count, start, scores};
      if (tile.range(count - 1).end <= 0 || tile.range(0).begin >= kKeyBlock) continue;
      tile_scores(tile);
      tile_softmax(tile);
      tile_output(tile);
    }
  }
  store_block(block, state);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(attention_block);

namespace {

/// Calls visit(block, cost) for every block of the call; cost counts rows x keys.
template <typename F>
void for_each_block(const AttentionShape& shape, std::span<const AttentionSequence> sequences, F&& visit) {
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  const int64_t most = attention_block_rows(shape.head_dim);
  for (const AttentionSequence& sequence : sequences) {
    const int64_t rows = sequence.num_queries * group;
    for (int64_t kv_head = 0; kv_head < shape.num_kv_heads; ++kv_head) {
      for (int64_t first = 0; first < rows; first += most) {
        const int64_t count = std::min(most, rows - first);
        const KeyRange keys = visible_keys(shape, sequence.first_position + (first + count - 1) / group);
        visit(AttentionBlock{&shape, &sequence, kv_head, first, count},
              count * (keys.end - keys.begin + kKeyBlock));
      }
    }
  }
}

}  // namespace

void attention_forward(Executor& threads, const AttentionShape& shape,
                       std::span<const AttentionSequence> sequences) {
  use_cpu_target();
  check(shape.num_kv_heads > 0 && shape.num_heads % shape.num_kv_heads == 0, "heads share kv heads evenly");
  check(shape.head_dim > 0 && shape.head_dim <= kMaxHeadDim, "head_dim is between 1 and 1024");
  const auto run = HWY_DYNAMIC_DISPATCH(attention_block);
  int64_t total = 0;
  for_each_block(shape, sequences, [&](const AttentionBlock&, int64_t cost) { total += cost; });
  if (total == 0) return;
  const int64_t tasks = threads.threads() == 1 ? 1 : int64_t{threads.threads()} * 8;
  threads.for_each(static_cast<int>(tasks), [&](int task) {
    int64_t before = 0;
    for_each_block(shape, sequences, [&](const AttentionBlock& block, int64_t cost) {
      if (before * tasks / total == task) run(block);
      before += cost;
    });
  });
}

void write_kv(const AttentionShape& shape, const float* k, const float* v, int64_t count,
              int64_t first_position, float* const* k_pages, float* const* v_pages, int64_t page_size) {
  const int64_t dim = shape.head_dim;
  for (int64_t t = 0; t < count; ++t) {
    const int64_t page = (first_position + t) / page_size;
    const int64_t slot = (first_position + t) % page_size;
    for (int64_t h = 0; h < shape.num_kv_heads; ++h) {
      const int64_t from = (t * shape.num_kv_heads + h) * dim;
      float* group = k_pages[page] + (h * page_size + slot / kKeyGroup * kKeyGroup) * dim + slot % kKeyGroup;
      for (int64_t i = 0; i < dim; ++i) group[i * kKeyGroup] = k[from + i];
      std::memcpy(v_pages[page] + (h * page_size + slot) * dim, v + from,
                  static_cast<size_t>(dim) * sizeof(float));
    }
  }
}

}  // namespace verlc::kernels
#endif
