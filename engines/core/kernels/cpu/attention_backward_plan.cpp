#include "core/kernels/cpu/attention_backward_plan.hpp"

#include <algorithm>
#include <numeric>

namespace verlc::kernels {
namespace {

/// Queries of a part: enough that its partial sums are small next to its products, few enough that several
/// threads share a long sequence; and at most kMostParts partial sums of one sequence.
constexpr int64_t kPartQueries = 512;
constexpr int64_t kMostParts = 16;

int64_t part_queries(int64_t length) {
  return std::max(kPartQueries, round_up((length + kMostParts - 1) / kMostParts, kKeyBlock));
}

/// The spans that queries [first, first + count) of segment s see.
void find_spans(const AttentionShape& shape, const PackedLayout& layout, int64_t first, int64_t count,
                BackwardPart& part) {
  const auto s = static_cast<size_t>(part.segment);
  const int64_t before = layout.before(s);
  const int64_t begin = visible_keys(shape, before + first).begin;
  const auto floor = [](int64_t key) { return std::max<int64_t>(0, key) / kKeyGroup * kKeyGroup; };
  if (before > begin) part.spans[0] = {layout.parent_of(s), 0, floor(begin), before};
  part.spans[1] = {part.segment, before, floor(begin - before), first + count};
}

/// What is added to each (segment, kv head) that several parts add to.
void list_sums(BackwardPlan& plan) {
  for (size_t p = 0; p < plan.parts.size(); ++p)
    for (int i = 0; i < 2; ++i)
      if (plan.parts[p].spans[i].keys() > 0 && !(i == 1 && plan.parts[p].alone))
        plan.sums.push_back({plan.parts[p].spans[i].segment, plan.parts[p].kv_head, p, i});
  std::stable_sort(plan.sums.begin(), plan.sums.end(), [](const SpanSum& a, const SpanSum& b) {
    return std::pair(a.segment, a.kv_head) < std::pair(b.segment, b.kv_head);
  });
  for (size_t i = 0; i < plan.sums.size(); ++i)
    if (i == 0 || plan.sums[i].segment != plan.sums[i - 1].segment ||
        plan.sums[i].kv_head != plan.sums[i - 1].kv_head)
      plan.sum_begin.push_back(i);
  plan.sum_begin.push_back(plan.sums.size());
}

}  // namespace

BackwardPlan plan_attention_backward(const AttentionShape& shape, const PackedLayout& layout) {
  BackwardPlan plan;
  plan.width = round_up(shape.head_dim, kKeyGroup);
  const std::vector<bool> has_children = segments_with_children(layout);
  for (size_t s = 0; s < layout.size(); ++s) {
    plan.key_start.push_back(plan.num_keys);
    plan.num_keys += round_up(layout.length(s), kKeyGroup);
    const int64_t length = layout.length(s);
    const int64_t most = part_queries(length);
    for (int64_t first = 0; first < length; first += most) {
      BackwardPart part;
      part.segment = static_cast<int64_t>(s);
      part.first_query = first;
      part.num_queries = std::min(most, length - first);
      part.alone = length <= most && !has_children[s];
      find_spans(shape, layout, first, part.num_queries, part);
      for (part.kv_head = 0; part.kv_head < shape.num_kv_heads; ++part.kv_head) {
        part.cost = part.num_queries *
                    (part.spans[0].keys() + part.spans[1].keys() - part.num_queries / 2 + kKeyBlock);
        for (int i = 0; i < 2; ++i) {
          part.sums[i] = plan.sum_floats;
          plan.sum_floats += 2 * round_up(part.spans[i].keys(), kKeyGroup) * plan.width;
        }
        plan.parts.push_back(part);
      }
    }
  }
  list_sums(plan);
  plan.order.resize(plan.parts.size());
  std::iota(plan.order.begin(), plan.order.end(), size_t{0});
  std::stable_sort(plan.order.begin(), plan.order.end(),
                   [&](size_t a, size_t b) { return plan.parts[a].cost > plan.parts[b].cost; });
  return plan;
}

}  // namespace verlc::kernels
