#include "core/kernels/cpu/attention_pages.hpp"

#include <algorithm>

namespace verlc::kernels {
namespace {

/// Tokens that one task writes.
constexpr int64_t kChunkTokens = 256;

constexpr int64_t pages_for(int64_t positions, int64_t page_size) {
  return (positions + page_size - 1) / page_size;
}

}  // namespace

PackedPages::PackedPages(const AttentionShape& shape, const PackedLayout& layout)
    : shape_(shape), layout_(layout) {
  const std::vector<bool> has_children = segments_with_children(layout);
  tables_.resize(layout.size());
  for (size_t s = 0; s < layout.size(); ++s) {
    const int64_t parent = layout.parent_of(s);
    const int64_t before = layout.before(s);
    Table& table = tables_[s];
    table.first = offsets_.size();
    const bool alone = parent < 0 && !has_children[s];
    table.page_size =
        alone ? std::max<int64_t>(1, pages_for(layout.length(s), kKeyGroup)) * kKeyGroup : kSharedPage;
    table.shared = before / table.page_size;
    table.count = pages_for(before + layout.length(s), table.page_size);
    for (int64_t page = 0; page < table.count; ++page) {
      if (page < table.shared) {
        offsets_.push_back(offsets_[tables_[static_cast<size_t>(parent)].first + static_cast<size_t>(page)]);
      } else {
        offsets_.push_back(floats_);
        floats_ += kv_page_floats(shape, table.page_size);
      }
    }
  }
  k_pages_.resize(offsets_.size());
  v_pages_.resize(offsets_.size());
}

void PackedPages::write_tokens(size_t s, int64_t first, int64_t count, const float* k, const float* v) {
  const Table& table = tables_[s];
  const int64_t row = shape_.num_kv_heads * shape_.head_dim;
  const auto write = [&](int64_t token, int64_t tokens, int64_t position) {
    write_kv(shape_, k + token * row, v + token * row, tokens, position, k_pages_.data() + table.first,
             v_pages_.data() + table.first, table.page_size);
  };
  const int64_t before = layout_.before(s);
  const int64_t shared = table.shared * table.page_size;
  if (first == 0 && shared < before)
    write(layout_.first(static_cast<size_t>(layout_.parent_of(s))) + shared, before - shared, shared);
  write(layout_.first(s) + first, count, before + first);
}

void PackedPages::fill(Executor& threads, const float* k, const float* v, float* k_memory, float* v_memory) {
  for (size_t i = 0; i < offsets_.size(); ++i) {
    k_pages_[i] = k_memory + offsets_[i];
    v_pages_[i] = v_memory + offsets_[i];
  }
  int64_t chunks = 0;
  for (size_t s = 0; s < layout_.size(); ++s) chunks += pages_for(layout_.length(s), kChunkTokens);
  threads.for_each(static_cast<int>(chunks), [&](int chunk) {
    size_t s = 0;
    int64_t index = chunk;
    for (; index >= pages_for(layout_.length(s), kChunkTokens); ++s)
      index -= pages_for(layout_.length(s), kChunkTokens);
    const int64_t first = index * kChunkTokens;
    write_tokens(s, first, std::min(kChunkTokens, layout_.length(s) - first), k, v);
  });
}

std::vector<AttentionSequence> PackedPages::sequences(const float* q, float* out, float* lse) const {
  std::vector<AttentionSequence> sequences;
  const int64_t row = shape_.num_heads * shape_.head_dim;
  for (size_t s = 0; s < layout_.size(); ++s) {
    const int64_t first = layout_.first(s);
    const Table& table = tables_[s];
    sequences.push_back({q + first * row,
                         out + first * row,
                         lse + first * shape_.num_heads,
                         layout_.length(s),
                         layout_.before(s),
                         {k_pages_.data() + table.first, v_pages_.data() + table.first, table.page_size},
                         0});
  }
  return sequences;
}

}  // namespace verlc::kernels
