// A panel of rows against one key block: scores, running softmax, values. Compiled once per target.
#if defined(VERLC_KERNELS_ATTENTION_PANEL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_ATTENTION_PANEL_INL_HPP
#undef VERLC_KERNELS_ATTENTION_PANEL_INL_HPP
#else
#define VERLC_KERNELS_ATTENTION_PANEL_INL_HPP
#endif

#include <limits>

#include "core/kernels/cpu/attention_block.hpp"
#include "core/kernels/cpu/attention_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// The rows of a block while they walk over the keys.
struct BlockState {
  alignas(64) float q[kBlockFloats];                      ///< [count, head_dim], multiplied by the scale
  alignas(64) float out[kBlockFloats];                    ///< [count, head_dim rounded up to 16]
  alignas(64) float scores[kPanelRows * kKeyBlock] = {};  ///< of the panel at work
  float max[kMostBlockRows];                              ///< of scores * log2(e)
  alignas(64) float sum[kMostBlockRows * kStep];          ///< [count, kStep], added up at the end
  KeyRange visible[kMostBlockRows];
  int64_t offset[kMostBlockRows];  ///< floats into the sequence's q and out
};

/// Rows [first, first + count) of a block against the key block that starts at position `start`. Rows of one
/// sequence stand in the order of their queries.
struct Panel {
  const AttentionBlock* block;
  BlockState* state;
  int64_t first, count, start;
  bool at_first_keys;  ///< of the block's walk

  [[nodiscard]] KeyRange range(int64_t row) const {
    const KeyRange all = state->visible[first + row];
    return {std::max<int64_t>(all.begin - start, 0), std::min(all.end - start, kKeyBlock)};
  }
  [[nodiscard]] float* scores(int64_t row) const { return state->scores + row * kKeyBlock; }
  /// Leading keys of the block that are in the same place for all rows.
  [[nodiscard]] int64_t shared() const { return std::clamp<int64_t>(block->shared - start, 0, kKeyBlock); }
  [[nodiscard]] const KvPages& pages(int64_t row) const { return block->sequence_of(first + row).pages; }
};

/// The lane groups of keys, or the values 16 at a time, of one sequence and key block.
struct KeyGroups {
  const float* at[kKeyBlock / kKeyGroup];
};

/// KeyGroups of keys [begin, end) of the block; begin is a multiple of kKeyGroup.
HWY_INLINE KeyGroups find_groups(const Panel& panel, const KvPages& pages, const float* const* list,
                                 int64_t begin, int64_t end) {
  KeyGroups groups;
  const int64_t dim = panel.block->shape->head_dim;
  const int64_t head = panel.block->kv_head * pages.page_size;
  int64_t page = (panel.start + begin) / pages.page_size;
  int64_t slot = (panel.start + begin) % pages.page_size;
  for (int64_t j = begin; j < end; j += kKeyGroup, slot += kKeyGroup) {
    if (slot == pages.page_size) {
      slot = 0;
      ++page;
    }
    groups.at[j / kKeyGroup] = list[page] + (head + slot) * dim;
  }
  return groups;
}

/// Asks for what the end of the block will write of these rows, and for about the queries of the next block.
HWY_INLINE void prefetch_rows(const Panel& panel, int64_t row, int64_t count) {
  const AttentionBlock& block = *panel.block;
  if (block.num_sequences > 1) return;
  const AttentionSequence& sequence = block.sequences[0];
  const int64_t ahead = head_offset(*block.shape, block.count / block.group(), 0);
  const int64_t end = head_offset(*block.shape, sequence.num_queries, 0);
  for (int64_t r = panel.first + row; r < panel.first + row + count; ++r) {
    const int64_t at = panel.state->offset[r];
    const float* const out = sequence.out + at;
    const float* const next = at + ahead < end ? sequence.q + at + ahead : out;
    for (int64_t i = 0; i < block.shape->head_dim; i += 16) {
      hwy::Prefetch(out + i);
      hwy::Prefetch(next + i);
    }
  }
}

/// Scores of panel rows [row, row_end), which look at one page table, for keys [begin, end) of the block, cut
/// for each register tile to the lane groups that its rows see.
HWY_ATTR inline void panel_scores(const Panel& panel, const KvPages& pages, int64_t row, int64_t row_end,
                                  int64_t begin, int64_t end) {
  const int64_t dim = panel.block->shape->head_dim;
  constexpr int64_t kStepKeys = kAttentionGroups * kKeyGroup;
  const KeyGroups keys = find_groups(panel, pages, pages.k, begin, end);
  for (int64_t j = begin; j < end; j += kStepKeys) {
    const int64_t step_end = std::min(end, j + kStepKeys);
    for (int64_t r = row; r < row_end; r += kAttentionRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, row_end - r));
      const int64_t from = std::max(j, panel.range(r).begin / kKeyGroup * kKeyGroup);
      const int64_t to = std::min(step_end, round_up(panel.range(r + rows - 1).end, kKeyGroup));
      if (panel.at_first_keys && j == begin) prefetch_rows(panel, r, rows);
      if (from >= to) continue;
      const auto groups = static_cast<int>((to - from) / kKeyGroup);
      const float* q = panel.state->q + (panel.first + r) * dim;
      rows_times_keys(rows, groups, q, dim, keys.at + from / kKeyGroup, dim, panel.scores(r) + from);
    }
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

/// scores -> 2^(scores * log2(e) - max); sums [kStep], lane by lane, become sums * factor + theirs.
HWY_INLINE void exponentiate(float* scores, KeyRange range, float max, float factor, float* sums) {
  const FloatTag d;
  const FloatVec log2e = hn::Set(d, kLog2E);
  const FloatVec top = hn::Set(d, -max);
  const FloatVec f = hn::Set(d, factor);
  FloatVec acc[kStepVecs];
  for (int v = 0; v < kStepVecs; ++v) acc[v] = hn::Mul(hn::Load(d, sums + v * kLanes), f);
  for (int64_t j = range.begin / kKeyGroup * kKeyGroup; j < range.end; j += kKeyGroup) {
    for (int v = 0; v < kStepVecs; ++v) {
      float* const at = scores + j + v * kLanes;
      const FloatVec p = exp2_softmax(d, hn::MulAdd(hn::LoadU(d, at), log2e, top));
      hn::StoreU(p, d, at);
      acc[v] = hn::Add(acc[v], p);
    }
  }
  for (int v = 0; v < kStepVecs; ++v) hn::Store(acc[v], d, sums + v * kLanes);
}

/// The running softmax of each row takes in the block; rows without a visible key are left alone.
HWY_ATTR inline void panel_softmax(const Panel& panel) {
  const FloatTag d;
  BlockState& state = *panel.state;
  const int64_t width = round_up(panel.block->shape->head_dim, kKeyGroup);
  constexpr int64_t kRows = round_up(kPanelRows, kStep);
  alignas(64) float factor[kRows] = {};
  // All maxima, then all exponentials: the rows are independent, and so their latencies overlap.
  for (int64_t r = 0; r < panel.count; ++r) {
    const KeyRange range = panel.range(r);
    if (range.begin >= range.end) continue;
    float& max = state.max[panel.first + r];
    const float best = mask_and_max(panel.scores(r), range) * kLog2E;
    const float top = best > max ? best : max;
    factor[r] = max - top;
    max = top;
  }
  for (int64_t v = 0; v < kRows; v += kLanes)
    hn::Store(exp2_softmax(d, hn::Load(d, factor + v)), d, factor + v);
  for (int64_t r = 0; r < panel.count; ++r) {
    const KeyRange range = panel.range(r);
    const int64_t at = panel.first + r;
    if (range.begin >= range.end) continue;
    exponentiate(panel.scores(r), range, state.max[at], factor[r], state.sum + at * kStep);
    if (factor[r] != 1.0F) scale_row(state.out + at * width, factor[r], width, state.out + at * width);
  }
}

/// out += p * v for panel rows [row, row + count), one register tile, and keys [range) of the block.
HWY_ATTR inline void panel_values(const Panel& panel, const KeyGroups& values, int64_t row, int64_t count,
                                  KeyRange range) {
  const int64_t dim = panel.block->shape->head_dim;
  const int64_t width = round_up(dim, kKeyGroup);
  rows_times_values(static_cast<int>(count), panel.scores(row), values.at, dim, range.begin, range.end,
                    panel.state->out + (panel.first + row) * width, width);
}

/// panel_values for keys [begin, end) cut to what each row sees; rows that see the same keys go together.
HWY_ATTR inline void panel_values_each(const Panel& panel, const KeyGroups& values, int64_t row,
                                       int64_t row_end, int64_t begin, int64_t end) {
  const auto cut = [&](int64_t r) HWY_ATTR {
    return KeyRange{std::max(panel.range(r).begin, begin), std::min(panel.range(r).end, end)};
  };
  while (row < row_end) {
    const KeyRange range = cut(row);
    int64_t next = row + 1;
    while (next < row_end && cut(next).begin == range.begin && cut(next).end == range.end) ++next;
    if (range.begin < range.end) panel_values(panel, values, row, next - row, range);
    row = next;
  }
}

/// Values of rows of one sequence from key `from` of the block on. Each row takes exactly its visible keys,
/// in order: first those before the keys common to its register tile, then the common ones together, then the
/// rest.
HWY_ATTR inline void sequence_values(const Panel& panel, const KvPages& pages, int64_t row, int64_t row_end,
                                     int64_t from) {
  const int64_t first = std::max(from, panel.range(row).begin / kKeyGroup * kKeyGroup);
  const KeyGroups values = find_groups(panel, pages, pages.v, first, panel.range(row_end - 1).end);
  for (; row < row_end; row += kAttentionRows) {
    const int64_t end = std::min<int64_t>(row + kAttentionRows, row_end);
    const KeyRange common{std::max(panel.range(end - 1).begin, from), panel.range(row).end};
    if (common.begin >= common.end) {
      panel_values_each(panel, values, row, end, from, kKeyBlock);
      continue;
    }
    if (common.begin > from) panel_values_each(panel, values, row, end, from, common.begin);
    panel_values(panel, values, row, end - row, common);
    if (common.end < kKeyBlock) panel_values_each(panel, values, row, end, common.end, kKeyBlock);
  }
}

/// Calls visit(pages, row, row_end) for the panel's rows of each sequence.
template <typename F>
HWY_INLINE void for_each_sequence(const Panel& panel, F&& visit) {
  for (int64_t row = 0; row < panel.count;) {
    const int64_t end = std::min(panel.count, panel.block->sequence_end(panel.first + row) - panel.first);
    visit(panel.pages(row), row, end);
    row = end;
  }
}

/// The whole passage of a panel over a key block: shared keys for all rows together, own keys by sequence.
HWY_ATTR inline void pass_block(const Panel& panel) {
  const int64_t shared = panel.shared();
  if (shared > 0) panel_scores(panel, panel.pages(0), 0, panel.count, 0, shared);
  for_each_sequence(panel, [&](const KvPages& pages, int64_t row, int64_t end) HWY_ATTR {
    const int64_t begin = std::max(shared, panel.range(row).begin / kKeyGroup * kKeyGroup);
    panel_scores(panel, pages, row, end, begin, round_up(panel.range(end - 1).end, kKeyGroup));
  });
  panel_softmax(panel);
  if (shared > 0) {
    const KeyGroups values = find_groups(panel, panel.pages(0), panel.pages(0).v, 0, shared);
    for (int64_t r = 0; r < panel.count; r += kAttentionRows)
      panel_values(panel, values, r, std::min<int64_t>(kAttentionRows, panel.count - r), {0, shared});
  }
  for_each_sequence(panel, [&](const KvPages& pages, int64_t row, int64_t end)
                               HWY_ATTR { sequence_values(panel, pages, row, end, shared); });
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
