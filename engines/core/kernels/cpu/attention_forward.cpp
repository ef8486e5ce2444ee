#include <array>
#include <cmath>
#include <cstring>

#include "core/base/check.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_block.hpp"
#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/attention_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/attention_panel-inl.hpp"
#include "core/kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// One lane group of keys from kKeyGroup rows of k.
HWY_ATTR void write_group(const float* k, ptrdiff_t stride, int64_t head_dim, float* group) {
  for (int64_t lane = 0; lane < kKeyGroup; lane += kLanes)
    transpose_lanes(k + lane * stride, stride, head_dim, group + lane, kKeyGroup);
}

HWY_ATTR void load_block(const AttentionBlock& block, BlockState& state) {
  const AttentionShape& shape = *block.shape;
  const int64_t dim = shape.head_dim;
  block.for_each_row([&](int64_t r, const AttentionSequence& sequence, int64_t query, int64_t head) HWY_ATTR {
    state.offset[r] = head_offset(shape, query, head);
    scale_row(sequence.q + state.offset[r], shape.scale, dim, state.q + r * dim);
    state.max[r] = -std::numeric_limits<float>::infinity();
    state.visible[r] = visible_keys(shape, sequence.first_position + query);
  });
  std::memset(state.sum, 0, static_cast<size_t>(block.count * kStep) * sizeof(float));
  std::memset(state.out, 0, static_cast<size_t>(block.count * round_up(dim, kKeyGroup)) * sizeof(float));
}

HWY_ATTR void store_block(const AttentionBlock& block, const BlockState& state) {
  const AttentionShape& shape = *block.shape;
  const int64_t width = round_up(shape.head_dim, kKeyGroup);
  block.for_each_row([&](int64_t r, const AttentionSequence& sequence, int64_t query, int64_t head) HWY_ATTR {
    const FloatTag d;
    FloatVec sums[kStepVecs];
    for (int v = 0; v < kStepVecs; ++v) sums[v] = hn::Load(d, state.sum + r * kStep + v * kLanes);
    const float sum = sum_lanes(sums);
    scale_row(state.out + r * width, 1.0F / sum, shape.head_dim, sequence.out + state.offset[r]);
    if (sequence.lse != nullptr)
      sequence.lse[query * shape.num_heads + head] = (state.max[r] + std::log2(sum)) / kLog2E;
  });
}

HWY_ATTR void attention_block(const AttentionBlock& block) {
  BlockState state;
  load_block(block, state);
  int64_t first_key = state.visible[0].begin;
  int64_t last_key = state.visible[0].end;
  for (int64_t r = 1; r < block.count; ++r) last_key = std::max(last_key, state.visible[r].end);
  first_key = first_key / kKeyBlock * kKeyBlock;
  for (int64_t start = first_key; start < last_key; start += kKeyBlock) {
    for (int64_t first = 0; first < block.count; first += kPanelRows) {
      const Panel panel{
          &block, &state, first, std::min(kPanelRows, block.count - first), start, start == first_key};
      bool sees = false;
      for (int64_t r = 0; r < panel.count; ++r) sees |= panel.range(r).begin < panel.range(r).end;
      if (sees) pass_block(panel);
    }
  }
  store_block(block, state);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(attention_block);
HWY_EXPORT(write_group);

namespace {

/// Sequences [first, first + count) of a call that go into the same blocks.
struct SequenceGroup {
  size_t first, count;
  int64_t shared;
};

/// A sequence where a block starts, and the cost of all blocks before that sequence.
struct BlockPlace {
  size_t sequence;
  int64_t before;
};
constexpr int kMostTasks = 256;

/// The longest run of one-query sequences from `first` on that share leading keys, of at most `most`.
SequenceGroup group_from(const AttentionShape& shape, std::span<const AttentionSequence> sequences,
                         size_t first, int64_t most) {
  SequenceGroup group{first, 1, 0};
  const auto whole_groups = [](int64_t keys) { return keys / kKeyGroup * kKeyGroup; };
  const AttentionSequence& lead = sequences[first];
  if (shape.window > 0 || lead.num_queries != 1) return group;
  for (size_t i = first + 1; i < sequences.size() && static_cast<int64_t>(group.count) < most; ++i) {
    const AttentionSequence& next = sequences[i];
    if (next.num_queries != 1 || next.pages.page_size != lead.pages.page_size) break;
    int64_t shared = std::min(next.shared, whole_groups(next.first_position + 1));
    shared = std::min(shared, group.count > 1 ? group.shared : whole_groups(lead.first_position + 1));
    // A few keys more to share with are not worth giving up many.
    if (shared < kKeyGroup || 2 * shared < group.shared) break;
    group.shared = shared;
    ++group.count;
  }
  return group;
}

/// Calls visit(block, cost, first sequence) for the blocks from sequence `from` on until it returns false;
/// cost counts rows x keys.
template <typename F>
void for_each_block(const AttentionShape& shape, std::span<const AttentionSequence> sequences,
                    int64_t most_grouped, size_t from, F&& visit) {
  const int64_t heads = shape.num_heads / shape.num_kv_heads;
  const int64_t most = attention_block_rows(shape.head_dim);
  for (size_t s = from; s < sequences.size();) {
    const SequenceGroup group = group_from(shape, sequences, s, most_grouped);
    const AttentionSequence& sequence = sequences[s];
    const auto count = static_cast<int64_t>(group.count);
    const int64_t rows = (count > 1 ? count : sequence.num_queries) * heads;
    for (int64_t kv_head = 0; kv_head < shape.num_kv_heads; ++kv_head) {
      for (int64_t first = 0; first < rows; first += most) {
        const AttentionBlock block{
            &shape, &sequence, count, group.shared, kv_head, first, std::min(most, rows - first)};
        const int64_t last = count > 1 ? 0 : (first + block.count - 1) / heads;
        const KeyRange keys = visible_keys(shape, sequence.first_position + last);
        if (!visit(block, block.count * (keys.end - keys.begin + kKeyBlock), s)) return;
      }
    }
    s += group.count;
  }
}

/// Sequences of a block: as many as fit, but every thread should get some blocks.
int64_t most_grouped(const AttentionShape& shape, size_t sequences, int threads) {
  const int64_t heads = shape.num_heads / shape.num_kv_heads;
  const int64_t fit = attention_block_rows(shape.head_dim) / heads;
  const int64_t fair = static_cast<int64_t>(sequences) * shape.num_kv_heads / (4 * int64_t{threads});
  return std::clamp(fair, std::min(fit, kPanelRows / heads), fit);
}

}  // namespace

void attention_forward(Executor& threads, const AttentionShape& shape,
                       std::span<const AttentionSequence> sequences) {
  use_cpu_target();
  check(shape.num_kv_heads > 0 && shape.num_heads % shape.num_kv_heads == 0, "heads share kv heads evenly");
  check(shape.head_dim > 0 && shape.head_dim <= kMaxHeadDim, "head_dim is between 1 and 1024");
  const auto run = HWY_DYNAMIC_DISPATCH(attention_block);
  const int64_t grouped = most_grouped(shape, sequences.size(), threads.threads());
  int64_t total = 0;
  for_each_block(shape, sequences, grouped, 0, [&](const AttentionBlock&, int64_t cost, size_t) {
    total += cost;
    return true;
  });
  if (total == 0) return;
  const int tasks = threads.threads() == 1 ? 1 : std::min(threads.threads() * 8, kMostTasks);
  const auto border = [&](int task) { return (total * task + tasks - 1) / tasks; };
  // A task runs the blocks whose cost before them lies between its borders; this is where they start.
  std::array<BlockPlace, kMostTasks> starts;
  starts.fill({sequences.size(), total});
  BlockPlace place{0, 0};
  int next = 0;
  int64_t before = 0;
  for_each_block(shape, sequences, grouped, 0, [&](const AttentionBlock&, int64_t cost, size_t sequence) {
    if (sequence != place.sequence) place = {sequence, before};
    for (; next < tasks && border(next) <= before; ++next) starts[static_cast<size_t>(next)] = place;
    before += cost;
    return true;
  });
  threads.for_each(tasks, [&](int task) {
    const auto [first, cost_before] = starts[static_cast<size_t>(task)];
    const int64_t begin = border(task);
    const int64_t end = border(task + 1);
    int64_t at = cost_before;
    for_each_block(shape, sequences, grouped, first, [&](const AttentionBlock& block, int64_t cost, size_t) {
      if (at >= end) return false;
      if (at >= begin) run(block);
      at += cost;
      return true;
    });
  });
}

void write_kv(const AttentionShape& shape, const float* k, const float* v, int64_t count,
              int64_t first_position, float* const* k_pages, float* const* v_pages, int64_t page_size) {
  use_cpu_target();
  const auto write_whole = HWY_DYNAMIC_DISPATCH(write_group);
  const int64_t dim = shape.head_dim;
  const int64_t row = shape.num_kv_heads * dim;
  for (int64_t t = 0; t < count;) {
    const int64_t page = (first_position + t) / page_size;
    const int64_t slot = (first_position + t) % page_size;
    const bool whole = slot % kKeyGroup == 0 && count - t >= kKeyGroup;
    const int64_t tokens = whole ? kKeyGroup : 1;
    for (int64_t h = 0; h < shape.num_kv_heads; ++h) {
      const int64_t from = t * row + h * dim;
      float* group = k_pages[page] + (h * page_size + slot / kKeyGroup * kKeyGroup) * dim + slot % kKeyGroup;
      if (whole) {
        write_whole(k + from, row, dim, group);
      } else {
        for (int64_t i = 0; i < dim; ++i) group[i * kKeyGroup] = k[from + i];
      }
      float* rows = v_pages[page] + (h * page_size + slot) * dim;
      for (int64_t i = 0; i < tokens; ++i)
        std::memcpy(rows + i * dim, v + from + i * row, static_cast<size_t>(dim) * sizeof(float));
    }
    t += tokens;
  }
}

}  // namespace verlc::kernels
#endif
