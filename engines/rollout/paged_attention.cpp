#include "rollout/paged_attention.hpp"

#include <algorithm>
#include <numeric>

namespace verlc::rollout {
namespace {

/// Leading pages that both items' tables name.
int64_t shared_pages(const StepItem& a, const StepItem& b) {
  const auto &left = a.sequence->table.pages(), &right = b.sequence->table.pages();
  const auto ends = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  return ends.first - left.begin();
}

}  // namespace

PagedAttention::PagedAttention(const KvCache& cache, const std::vector<StepItem>& items)
    : cache_(cache), items_(items) {
  int64_t rows = 0;
  size_t pages = 0;
  for (const StepItem& item : items) {
    first_row_.push_back(rows);
    first_page_.push_back(pages);
    rows += item.num_tokens;
    pages += item.sequence->table.pages().size();
  }
  k_pages_.resize(pages);
  v_pages_.resize(pages);
  sequences_.resize(items.size());
  // Sequences that share pages stand next to each other, so that the kernel reads those pages once.
  order_.resize(items.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  const auto first = [&](size_t i) {
    const auto table = items[i].sequence->table.pages();
    return table.empty() ? int32_t{-1} : table.front();
  };
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return first(a) < first(b); });
  for (size_t i = 1; i < order_.size(); ++i)
    sequences_[i].shared = cache.page_size() * shared_pages(items[order_[i - 1]], items[order_[i]]);
}

void PagedAttention::point_at(int64_t layer) {
  size_t i = 0;
  for (const StepItem& item : items_) {
    for (const int32_t page : item.sequence->table.pages()) {
      k_pages_[i] = cache_.k_page(layer, page);
      v_pages_[i] = cache_.v_page(layer, page);
      ++i;
    }
  }
}

void PagedAttention::write(Executor& threads, const kernels::AttentionShape& shape, const float* k,
                           const float* v) {
  const int64_t width = shape.num_kv_heads * shape.head_dim;
  threads.for_each(static_cast<int>(items_.size()), [&](int index) {
    const auto i = static_cast<size_t>(index);
    const StepItem& item = items_[i];
    const int64_t skipped = item.first_write - item.first_position;
    const int64_t row = (first_row_[i] + skipped) * width;
    if (skipped < item.num_tokens)
      kernels::write_kv(shape, k + row, v + row, item.num_tokens - skipped, item.first_write,
                        k_pages_.data() + first_page_[i], v_pages_.data() + first_page_[i],
                        cache_.page_size());
  });
}

Var PagedAttention::attend(Tape& tape, int64_t layer, const kernels::AttentionShape& shape, const Var& q,
                           const Var& k, const Var& v) {
  const Context& context = tape.context();
  point_at(layer);
  write(context.threads, shape, k.value().f32(), v.value().f32());
  Tensor out = context.empty(q.value().shape());
  const int64_t width = shape.num_heads * shape.head_dim;
  for (size_t s = 0; s < order_.size(); ++s) {
    const size_t i = order_[s];
    kernels::AttentionSequence& sequence = sequences_[s];
    sequence.q = q.value().f32() + first_row_[i] * width;
    sequence.out = out.f32() + first_row_[i] * width;
    sequence.num_queries = items_[i].num_tokens;
    sequence.first_position = items_[i].first_position;
    sequence.pages = {k_pages_.data() + first_page_[i], v_pages_.data() + first_page_[i], cache_.page_size()};
  }
  kernels::attention_forward(context.threads, shape, sequences_);
  return Var::constant(std::move(out));
}

}  // namespace verlc::rollout
