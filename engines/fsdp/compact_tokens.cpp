#include "fsdp/compact_tokens.hpp"

#include <algorithm>

namespace verlc::fsdp {
namespace {

// Tokens up to the last that predicts a token of the mask.
int32_t needed_length(const Batch& batch, size_t s) {
  int32_t t = batch.cu_seqlens[s + 1] - 1;
  while (t > batch.cu_seqlens[s] && batch.mask[static_cast<size_t>(t)] == 0) --t;
  return std::max(0, t - batch.cu_seqlens[s]);
}

// Where a sequence's tokens went: the first `shared` to `parent`, the others to `own`.
struct Place {
  int32_t parent = 0, own = 0, shared = 0;
};

class Builder {
 public:
  Builder(const Batch& batch, size_t token_begin) : batch_(batch), token_begin_(token_begin) {
    result_.segments.cu_seqlens.push_back(0);
  }
  CompactTokens take() { return std::move(result_); }

  // The tokens [from, to) of sequence s; gives the index of the first.
  int32_t add_segment(size_t s, int32_t from, int32_t to, int32_t parent) {
    const auto first = static_cast<int32_t>(result_.tokens.size());
    if (from == to) return first;
    for (int32_t i = batch_.cu_seqlens[s] + from; i < batch_.cu_seqlens[s] + to; ++i) {
      result_.tokens.push_back(batch_.tokens[static_cast<size_t>(i)]);
      result_.positions.push_back(batch_.positions[static_cast<size_t>(i)]);
    }
    result_.segments.cu_seqlens.push_back(static_cast<int32_t>(result_.tokens.size()));
    result_.segments.parent.push_back(parent);
    return first;
  }

  void add_rows(size_t s, const Place& place) {
    const float inverse = batch_.temperature.empty() ? 1.0f : 1.0f / batch_.temperature[s];
    const int32_t begin = batch_.cu_seqlens[s];
    for (int32_t t = begin + 1; t < batch_.cu_seqlens[s + 1]; ++t) {
      if (batch_.mask[static_cast<size_t>(t)] == 0) continue;
      const int32_t before = t - 1 - begin;
      result_.rows.rows.push_back(before < place.shared ? place.parent + before
                                                        : place.own + before - place.shared);
      result_.rows.targets.push_back(batch_.tokens[static_cast<size_t>(t)]);
      result_.rows.inv_temperature.push_back(inverse);
      result_.rows.tokens.push_back(t - static_cast<int64_t>(token_begin_));
    }
  }

  void add_group(std::span<const Extent> extents, size_t first, size_t end) {
    const int32_t shared = end - first > 1 ? extents[first].shared : 0;
    const auto number = static_cast<int32_t>(result_.segments.parent.size());
    const int32_t parent = add_segment(first, 0, shared, -1);
    for (size_t s = first; s < end; ++s)
      add_rows(s, {parent, add_segment(s, shared, extents[s].length, shared > 0 ? number : -1), shared});
  }

 private:
  const Batch& batch_;
  size_t token_begin_;
  CompactTokens result_;
};

}  // namespace

std::vector<Extent> extents_of(const Batch& batch) {
  std::vector<Extent> extents(batch.cu_seqlens.size() - 1);
  for (size_t s = 0; s < extents.size(); ++s) {
    Extent& extent = extents[s];
    extent.length = batch.cu_seqlens[s + 1] - batch.cu_seqlens[s];
    if (batch.shared_prefix.empty()) continue;
    extent.length = needed_length(batch, s);
    const int32_t group = batch.shared_prefix[2 * s], shared = batch.shared_prefix[2 * s + 1];
    if (group < 0 || shared == 0 || extent.length == 0) continue;
    extent = {group, shared, std::max(extent.length, shared)};
  }
  return extents;
}

CompactTokens compact(const Batch& batch, std::span<const Extent> extents, const MicroBatch& part) {
  Builder builder(batch, part.token_begin);
  for (size_t s = part.sequence_begin; s < part.sequence_end;) {
    size_t end = s + 1;
    while (extents[s].group >= 0 && end < part.sequence_end && extents[end].group == extents[s].group) ++end;
    builder.add_group(extents, s, end);
    s = end;
  }
  return builder.take();
}

}  // namespace verlc::fsdp
