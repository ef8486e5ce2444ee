#include <algorithm>
#include <cstring>

#include "core/base/check.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_backward_call.hpp"
#include "core/kernels/cpu/dispatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/attention_backward_keys-inl.hpp"
#include "core/kernels/cpu/attention_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// A block of rows; the extra columns are 0.
struct RowBlock {
  alignas(64) float q[kBlockFloats];  ///< [rows, width], multiplied by the scale
  alignas(64) float dout[kBlockFloats];
  alignas(64) float dq[kBlockFloats];
  alignas(64) float p[kBackwardRows * kKeyBlock];
  alignas(64) float ds[kBackwardRows * kKeyBlock];
  float lse[kBackwardRows];  ///< times log2(e)
  float dot[kBackwardRows];
  int64_t first, count;  ///< rows from the segment's first token
  int64_t position;      ///< of the segment's first token in its sequence
};

/// Floats from the start of q to the head of row `row` of the part's segment; *query is its token.
HWY_INLINE int64_t row_offset(const BackwardCall& call, const BackwardPart& part, int64_t row, int64_t* query,
                              int64_t* head) {
  *query = call.layout.first(static_cast<size_t>(part.segment)) + row / call.group();
  *head = part.kv_head * call.group() + row % call.group();
  return head_offset(call.shape, *query, *head);
}

HWY_ATTR void load_rows(const BackwardCall& call, const BackwardPart& part, RowBlock& block) {
  const AttentionShape& shape = call.shape;
  const int64_t width = call.plan.width;
  const size_t bytes = static_cast<size_t>(block.count * width) * sizeof(float);
  std::memset(block.dq, 0, bytes);
  if (width > shape.head_dim) {
    std::memset(block.q, 0, bytes);
    std::memset(block.dout, 0, bytes);
  }
  for (int64_t r = 0; r < block.count; ++r) {
    int64_t query = 0;
    int64_t head = 0;
    const int64_t from = row_offset(call, part, block.first + r, &query, &head);
    scale_row(call.q + from, shape.scale, shape.head_dim, block.q + r * width);
    std::memcpy(block.dout + r * width, call.dout + from,
                static_cast<size_t>(shape.head_dim) * sizeof(float));
    block.dot[r] = row_dot(call.out + from, call.dout + from, nullptr, shape.head_dim);
    block.lse[r] = call.lse[query * shape.num_heads + head] * kLog2E;
  }
}

HWY_ATTR void store_rows(const BackwardCall& call, const BackwardPart& part, const RowBlock& block) {
  for (int64_t r = 0; r < block.count; ++r) {
    int64_t query = 0;
    int64_t head = 0;
    float* dq = call.dq + row_offset(call, part, block.first + r, &query, &head);
    scale_row(block.dq + r * call.plan.width, call.shape.scale, call.shape.head_dim, dq);
  }
}

/// p = 2^(s log2(e) - lse) where visible, else 0; ds = p (dp - dot), over the first `keys` keys. s and dp
/// come in p and ds.
HWY_INLINE void row_gradient(float* p, float* ds, float lse, float dot, KeyRange range, int64_t keys) {
  const FloatTag d;
  const FloatVec log2e = hn::Set(d, kLog2E);
  const FloatVec top = hn::Set(d, -lse);
  const FloatVec center = hn::Set(d, dot);
  const bool whole = range.begin <= 0 && range.end >= keys;
  for (int64_t j = 0; j < keys; j += kLanes) {
    FloatVec e = exp2_softmax(d, hn::MulAdd(hn::Load(d, p + j), log2e, top));
    FloatVec slope = hn::Mul(e, hn::Sub(hn::Load(d, ds + j), center));
    if (!whole) {
      const FloatVec index = hn::Iota(d, static_cast<float>(j));
      const auto inside = hn::And(hn::Ge(index, hn::Set(d, static_cast<float>(range.begin))),
                                  hn::Lt(index, hn::Set(d, static_cast<float>(range.end))));
      e = hn::IfThenElseZero(inside, e);
      slope = hn::IfThenElseZero(inside, slope);
    }
    hn::Store(e, d, p + j);
    hn::Store(slope, d, ds + j);
  }
}

/// One span of a part: the packed keys of its segment, and where their gradients are summed.
struct SpanViews {
  KeySpan span;
  PackedKeys packed;
  float *dk, *dv;  ///< [keys, width] from span.begin on
};

HWY_INLINE SpanViews span_views(const BackwardCall& call, const BackwardPart& part, int i) {
  SpanViews views{};
  views.span = part.spans[i];
  if (views.span.keys() <= 0) return views;
  views.packed = packed_keys(call, views.span.segment, part.kv_head);
  views.dk = call.sums + part.sums[i];
  views.dv = views.dk + round_up(views.span.keys(), kKeyGroup) * call.plan.width;
  std::memset(
      views.dk, 0,
      static_cast<size_t>(2 * round_up(views.span.keys(), kKeyGroup) * call.plan.width) * sizeof(float));
  return views;
}

/// out[r][j] = a[r] . keys[j] for `keys` adjacent keys in lane groups. Keys stay in the first cache while all
/// rows pass.
HWY_ATTR void block_scores(const float* a, int64_t count, int64_t width, const float* lanes, int64_t dim,
                           int64_t keys, float* out) {
  constexpr int64_t kStepKeys = kAttentionGroups * kKeyGroup;
  for (int64_t j = 0; j < keys; j += kStepKeys) {
    const float* groups[kAttentionGroups];
    const auto num_groups = static_cast<int>(std::min(kStepKeys, keys - j) / kKeyGroup);
    for (int g = 0; g < num_groups; ++g) groups[g] = lanes + (j + g * kKeyGroup) * dim;
    for (int64_t r = 0; r < count; r += kAttentionRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, count - r));
      rows_times_keys(rows, num_groups, a + r * width, width, groups, dim, out + r * kKeyBlock + j);
    }
  }
}

/// A block of rows against `keys` keys from key `start` of the span's segment.
HWY_ATTR void backward_pair(const BackwardCall& call, const SpanViews& views, RowBlock& block, int64_t start,
                            int64_t keys) {
  const AttentionShape& shape = call.shape;
  const int64_t dim = shape.head_dim;
  const int64_t width = call.plan.width;
  const int64_t group = call.group();
  const int64_t before = views.span.position + start;
  const float* kt = views.packed.kt + start * dim;
  const float* vt = views.packed.vt + start * dim;
  block_scores(block.q, block.count, width, kt, dim, keys, block.p);
  block_scores(block.dout, block.count, width, vt, dim, keys, block.ds);
  for (int64_t r = 0; r < block.count; ++r) {
    KeyRange range = visible_keys(shape, block.position + (block.first + r) / group);
    // Padding behind the segment's last key is visible to nobody.
    range = {range.begin - before, std::min(range.end - before, views.span.end - start)};
    row_gradient(block.p + r * kKeyBlock, block.ds + r * kKeyBlock, block.lse[r], block.dot[r], range, keys);
  }
  for (int64_t r = 0; r < block.count; r += kAttentionRows) {
    const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, block.count - r));
    rows_times_rows(rows, TileA{block.ds + r * kKeyBlock, kKeyBlock, 1}, views.packed.k + start * width,
                    width, keys, width, block.dq + r * width, width);
  }
  for (int64_t j = 0; j < keys; j += kAttentionRows) {
    const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, keys - j));
    const int64_t at = (start - views.span.begin + j) * width;
    rows_times_rows(rows, TileA{block.p + j, 1, kKeyBlock}, block.dout, width, block.count, width,
                    views.dv + at, width);
    rows_times_rows(rows, TileA{block.ds + j, 1, kKeyBlock}, block.q, width, block.count, width,
                    views.dk + at, width);
  }
}

/// The block over the keys of a span that one of its rows sees, in order.
HWY_ATTR void backward_span(const BackwardCall& call, const SpanViews& views, RowBlock& block) {
  if (views.span.keys() <= 0) return;
  const int64_t group = call.group();
  const int64_t first = block.position + block.first / group;
  const int64_t last = block.position + (block.first + block.count - 1) / group;
  const int64_t begin = visible_keys(call.shape, first).begin - views.span.position;
  const int64_t end = std::min(views.span.end, visible_keys(call.shape, last).end - views.span.position);
  for (int64_t start = std::max(views.span.begin, begin / kKeyGroup * kKeyGroup); start < end;
       start += kKeyBlock)
    backward_pair(call, views, block, start, std::min(kKeyBlock, round_up(end - start, kKeyGroup)));
}

/// Adds a part's sums of a span to dk and dv; the first of a segment and kv head sets the rest to zero.
HWY_ATTR void add_sums(const BackwardCall& call, const BackwardPart& part, int i, bool first) {
  const KeySpan& span = part.spans[i];
  const int64_t dim = call.shape.head_dim;
  const int64_t width = call.plan.width;
  const float* sums = call.sums + part.sums[i];
  const int64_t length = call.layout.length(static_cast<size_t>(span.segment));
  for (float* to : {call.dk, call.dv}) {
    for (int64_t t = first ? 0 : span.begin; t < (first ? length : span.end); ++t) {
      float* row = to + call.kv_offset(span.segment, t, part.kv_head);
      const float* sum = sums + (t - span.begin) * width;
      if (first) std::memset(row, 0, static_cast<size_t>(dim) * sizeof(float));
      if (t < span.begin || t >= span.end) continue;
      for (int64_t j = 0; j < dim; ++j) row[j] += sum[j];
    }
    sums += round_up(span.keys(), kKeyGroup) * width;
  }
}

/// A part's row blocks in order, each over its keys in order.
HWY_ATTR void backward_part(const BackwardCall& call, const BackwardPart& part) {
  RowBlock block;
  block.position = call.layout.before(static_cast<size_t>(part.segment));
  const SpanViews parent = span_views(call, part, 0);
  const SpanViews own = span_views(call, part, 1);
  const int64_t most = std::min(kBackwardRows, attention_block_rows(call.shape.head_dim));
  const int64_t end = (part.first_query + part.num_queries) * call.group();
  for (block.first = part.first_query * call.group(); block.first < end; block.first += most) {
    block.count = std::min(most, end - block.first);
    load_rows(call, part, block);
    backward_span(call, parent, block);
    backward_span(call, own, block);
    store_rows(call, part, block);
  }
  if (part.alone) add_sums(call, part, 1, true);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(backward_part);
HWY_EXPORT(pack_keys);
HWY_EXPORT(add_sums);

size_t attention_backward_scratch_floats(const AttentionShape& shape, const PackedLayout& layout) {
  const BackwardPlan plan = plan_attention_backward(shape, layout);
  return static_cast<size_t>(shape.num_kv_heads * plan.packed_floats() + plan.sum_floats);
}

void attention_backward(Executor& threads, const AttentionShape& shape, const float* q, const float* k,
                        const float* v, const float* out, const float* dout, const float* lse,
                        const PackedLayout& layout, float* dq, float* dk, float* dv, float* scratch) {
  use_cpu_target();
  check(shape.num_kv_heads > 0 && shape.num_heads % shape.num_kv_heads == 0, "heads share kv heads evenly");
  check(shape.head_dim > 0 && shape.head_dim <= kMaxHeadDim, "head_dim is between 1 and 1024");
  BackwardCall call{shape,   layout, q,  k,  v,  out,
                    dout,    lse,    dq, dk, dv, plan_attention_backward(shape, layout),
                    scratch, nullptr};
  const BackwardPlan& plan = call.plan;
  call.sums = scratch + shape.num_kv_heads * plan.packed_floats();
  const auto pack = HWY_DYNAMIC_DISPATCH(pack_keys);
  threads.for_each(static_cast<int>(static_cast<int64_t>(layout.size()) * shape.num_kv_heads),
                   [&](int i) { pack(call, i / shape.num_kv_heads, i % shape.num_kv_heads); });
  const auto run = HWY_DYNAMIC_DISPATCH(backward_part);
  threads.for_each(static_cast<int>(plan.parts.size()),
                   [&](int i) { run(call, plan.parts[plan.order[static_cast<size_t>(i)]]); });
  const auto add = HWY_DYNAMIC_DISPATCH(add_sums);
  threads.for_each(static_cast<int>(plan.sum_begin.size()) - 1, [&](int i) {
    for (size_t s = plan.sum_begin[static_cast<size_t>(i)]; s < plan.sum_begin[static_cast<size_t>(i) + 1];
         ++s)
      add(call, plan.parts[plan.sums[s].part], plan.sums[s].span,
          s == plan.sum_begin[static_cast<size_t>(i)]);
  });
}

}  // namespace verlc::kernels
#endif
