#include <cstring>

#include "core/base/check.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_block.hpp"
#include "core/kernels/cpu/dispatch.hpp"

#ifndef VERLC_KERNELS_ATTENTION_BACKWARD_ONCE
#define VERLC_KERNELS_ATTENTION_BACKWARD_ONCE
namespace verlc::kernels {

/// Rows (a row is one head of one query) per block of the backward.
inline constexpr int64_t kBackwardRows = 48;

/// One sequence and one kv head. The tensors start at the sequence's first token.
struct BackwardTask {
  const AttentionShape* shape;
  const float *q, *k, *v, *out, *dout, *lse;
  float *dq, *dk, *dv;
  int64_t kv_head, length;
  float* scratch;
};

/// Floats of scratch that a task carves up, for sequences of `length` tokens.
constexpr int64_t backward_task_floats(int64_t head_dim, int64_t length) {
  const int64_t width = round_up(head_dim, kKeyGroup);
  const int64_t keys = round_up(length, kKeyBlock);
  return 6 * keys * width + 3 * kBackwardRows * width + 2 * kBackwardRows * kKeyBlock + 2 * kBackwardRows;
}

}  // namespace verlc::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/attention_rows-inl.hpp"
#include "core/kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// Views into a task's scratch; `width` is head_dim rounded up to 16, the extra columns are 0.
struct BackwardViews {
  float *kt, *vt;          ///< lane groups [keys / 16][head_dim][16]
  float *k, *v, *dk, *dv;  ///< [keys, width]
  float *q, *dout, *dq;    ///< [rows, width]; q multiplied by the scale
  float *p, *ds;           ///< [rows, kKeyBlock]
  float *lse, *dot;        ///< [rows]
  int64_t keys, width;
};

HWY_INLINE BackwardViews carve(const BackwardTask& task) {
  BackwardViews views{};
  views.width = round_up(task.shape->head_dim, kKeyGroup);
  views.keys = round_up(task.length, kKeyBlock);
  float* at = task.scratch;
  const auto take = [&at](int64_t floats) {
    float* const start = at;
    at += floats;
    return start;
  };
  for (float** part : {&views.kt, &views.vt, &views.k, &views.v, &views.dk, &views.dv}) {
    *part = take(views.keys * views.width);
  }
  for (float** part : {&views.q, &views.dout, &views.dq}) *part = take(kBackwardRows * views.width);
  for (float** part : {&views.p, &views.ds}) *part = take(kBackwardRows * kKeyBlock);
  views.lse = take(kBackwardRows);
  views.dot = take(kBackwardRows);
  return views;
}

HWY_ATTR void load_keys(const BackwardTask& task, const BackwardViews& views) {
  const AttentionShape& shape = *task.shape;
  const int64_t dim = shape.head_dim;
  std::memset(task.scratch, 0, static_cast<size_t>(6 * views.keys * views.width) * sizeof(float));
  for (int64_t t = 0; t < task.length; ++t) {
    const int64_t from = (t * shape.num_kv_heads + task.kv_head) * dim;
    std::memcpy(views.k + t * views.width, task.k + from, static_cast<size_t>(dim) * sizeof(float));
    std::memcpy(views.v + t * views.width, task.v + from, static_cast<size_t>(dim) * sizeof(float));
  }
}

HWY_ATTR void transpose_keys(const BackwardViews& views, int64_t dim) {
  for (int64_t t = 0; t < views.keys; t += kLanes) {
    const int64_t to = t / kKeyGroup * kKeyGroup * dim + t % kKeyGroup;
    transpose_lanes(views.k + t * views.width, views.width, dim, views.kt + to, kKeyGroup);
    transpose_lanes(views.v + t * views.width, views.width, dim, views.vt + to, kKeyGroup);
  }
}

HWY_ATTR void load_rows(const BackwardTask& task, const BackwardViews& views, int64_t first, int64_t count) {
  const AttentionShape& shape = *task.shape;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  const size_t bytes = static_cast<size_t>(kBackwardRows * views.width) * sizeof(float);
  std::memset(views.q, 0, 3 * bytes);
  for (int64_t r = 0; r < count; ++r) {
    const int64_t query = (first + r) / group;
    const int64_t head = task.kv_head * group + (first + r) % group;
    const int64_t from = head_offset(shape, query, head);
    for (int64_t i = 0; i < shape.head_dim; ++i) {
      views.q[r * views.width + i] = task.q[from + i] * shape.scale;
      views.dout[r * views.width + i] = task.dout[from + i];
    }
    views.dot[r] = row_dot(task.out + from, task.dout + from, nullptr, shape.head_dim);
    views.lse[r] = task.lse[query * shape.num_heads + head];
  }
}

/// p = exp(s - lse) where visible, else 0; ds = p (dp - dot), over the first `keys` keys. s and dp come in p
/// and ds.
HWY_INLINE void row_gradient(float* p, float* ds, float lse, float dot, KeyRange range, int64_t keys) {
  const FloatTag d;
  const FloatVec top = hn::Set(d, lse);
  const FloatVec center = hn::Set(d, dot);
  const bool whole = range.begin <= 0 && range.end >= keys;
  for (int64_t j = 0; j < keys; j += kLanes) {
    FloatVec e = exp_softmax(d, hn::Sub(hn::Load(d, p + j), top));
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

/// One block of rows against the key block at `start`.
HWY_ATTR void backward_pair(const BackwardTask& task, const BackwardViews& views, int64_t first,
                            int64_t count, int64_t start) {
  const AttentionShape& shape = *task.shape;
  const int64_t dim = shape.head_dim;
  const int64_t width = views.width;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  // Keys that no row of the block sees are left out.
  const int64_t last = visible_keys(shape, (first + count - 1) / group).end - start;
  const int64_t keys = std::min(kKeyBlock, round_up(last, kKeyGroup));
  for (int64_t r = 0; r < count; r += kAttentionRows) {
    const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, count - r));
    float* p = views.p + r * kKeyBlock;
    float* ds = views.ds + r * kKeyBlock;
    rows_times_keys(rows, views.q + r * width, width, views.kt + start * dim, dim, keys / kKeyGroup, p);
    rows_times_keys(rows, views.dout + r * width, width, views.vt + start * dim, dim, keys / kKeyGroup, ds);
    for (int i = 0; i < rows; ++i) {
      KeyRange range = visible_keys(shape, (first + r + i) / group);
      range = {range.begin - start, range.end - start};
      row_gradient(p + i * kKeyBlock, ds + i * kKeyBlock, views.lse[r + i], views.dot[r + i], range, keys);
    }
    rows_times_rows(rows, TileA{ds, kKeyBlock, 1}, views.k + start * width, width, keys, width,
                    views.dq + r * width, width);
  }
  for (int64_t j = 0; j < keys; j += kAttentionRows) {
    const int rows = static_cast<int>(std::min<int64_t>(kAttentionRows, keys - j));
    const int64_t at = (start + j) * width;
    rows_times_rows(rows, TileA{views.p + j, 1, kKeyBlock}, views.dout, width, count, width, views.dv + at,
                    width);
    rows_times_rows(rows, TileA{views.ds + j, 1, kKeyBlock}, views.q, width, count, width, views.dk + at,
                    width);
  }
}

HWY_ATTR void store_rows(const BackwardTask& task, const BackwardViews& views, int64_t first, int64_t count) {
  const AttentionShape& shape = *task.shape;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  for (int64_t r = 0; r < count; ++r) {
    float* dq = task.dq + head_offset(shape, (first + r) / group, task.kv_head * group + (first + r) % group);
    for (int64_t i = 0; i < shape.head_dim; ++i) dq[i] = views.dq[r * views.width + i] * shape.scale;
  }
}

/// Row blocks in order, each over its key blocks in order.
HWY_ATTR void backward_task(const BackwardTask& task) {
  const AttentionShape& shape = *task.shape;
  const BackwardViews views = carve(task);
  load_keys(task, views);
  transpose_keys(views, task.shape->head_dim);
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  const int64_t rows = task.length * group;
  for (int64_t first = 0; first < rows; first += kBackwardRows) {
    const int64_t count = std::min(kBackwardRows, rows - first);
    load_rows(task, views, first, count);
    const int64_t begin = visible_keys(shape, first / group).begin / kKeyBlock * kKeyBlock;
    const int64_t end = visible_keys(shape, (first + count - 1) / group).end;
    for (int64_t start = begin; start < end; start += kKeyBlock)
      backward_pair(task, views, first, count, start);
    store_rows(task, views, first, count);
  }
  const size_t bytes = static_cast<size_t>(shape.head_dim) * sizeof(float);
  for (int64_t t = 0; t < task.length; ++t) {
    const int64_t to = (t * shape.num_kv_heads + task.kv_head) * shape.head_dim;
    std::memcpy(task.dk + to, views.dk + t * views.width, bytes);
    std::memcpy(task.dv + to, views.dv + t * views.width, bytes);
  }
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(backward_task);

size_t attention_backward_scratch_floats(int threads, const AttentionShape& shape, int64_t longest_sequence) {
  return static_cast<size_t>(threads) *
         static_cast<size_t>(backward_task_floats(shape.head_dim, longest_sequence));
}

void attention_backward(Executor& threads, const AttentionShape& shape, const float* q, const float* k,
                        const float* v, const float* out, const float* dout, const float* lse,
                        std::span<const int32_t> cu_seqlens, float* dq, float* dk, float* dv,
                        float* scratch) {
  use_cpu_target();
  check(shape.num_kv_heads > 0 && shape.num_heads % shape.num_kv_heads == 0, "heads share kv heads evenly");
  if (cu_seqlens.size() < 2) return;
  const auto run = HWY_DYNAMIC_DISPATCH(backward_task);
  const int64_t kv_row = shape.num_kv_heads * shape.head_dim;
  int64_t longest = 0;
  int64_t total = 0;
  const auto length_of = [&](size_t s) { return int64_t{cu_seqlens[s + 1]} - cu_seqlens[s]; };
  const auto cost_of = [](int64_t length) { return length * (length + kKeyBlock); };
  const size_t sequences = cu_seqlens.size() - 1;
  for (size_t s = 0; s < sequences; ++s) {
    longest = std::max(longest, length_of(s));
    total += cost_of(length_of(s)) * shape.num_kv_heads;
  }
  if (total == 0) return;
  const int64_t tasks = threads.threads();
  const int64_t task_floats = backward_task_floats(shape.head_dim, longest);
  threads.for_each(static_cast<int>(tasks), [&](int task) {
    int64_t before = 0;
    for (size_t s = 0; s < sequences; ++s) {
      const int64_t t0 = cu_seqlens[s];
      const int64_t at = t0 * shape.num_heads * shape.head_dim;
      const int64_t kv = t0 * kv_row;
      for (int64_t h = 0; h < shape.num_kv_heads; ++h, before += cost_of(length_of(s))) {
        if (length_of(s) == 0 || before * tasks / total != task) continue;
        run(BackwardTask{&shape, q + at, k + kv, v + kv, out + at, dout + at, lse + t0 * shape.num_heads,
                         dq + at, dk + kv, dv + kv, h, length_of(s), scratch + task * task_floats});
      }
    }
  });
}

}  // namespace verlc::kernels
#endif
