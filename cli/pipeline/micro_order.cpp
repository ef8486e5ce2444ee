#include "pipeline/micro_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "pipeline/partition.hpp"

namespace verlc::pipeline {
namespace {

// Sequences that stay together.
struct Unit {
  std::vector<size_t> members;
  int64_t tokens = 0;
};

// Tokens that `next` adds behind `before`.
int64_t added(const SequenceSize& before, const SequenceSize& next) {
  return before.group == next.group ? next.length - next.shared : next.length;
}

int64_t joined_tokens(std::span<const SequenceSize> sequences, const std::vector<size_t>& members) {
  int64_t tokens = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    const SequenceSize& own = sequences[members[i]];
    tokens += i == 0 ? own.length : added(sequences[members[i - 1]], own);
  }
  return tokens;
}

using Bins = std::vector<std::vector<size_t>>;  // indices of units

std::vector<size_t> by_falling_size(std::span<const int64_t> sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  return order;
}

// The largest first, each into the fullest bin that takes it; false = they need more bins.
bool best_fit(std::span<const int64_t> sizes, int64_t budget, size_t count, Bins& bins) {
  bins.assign(count, {});
  std::vector<int64_t> used(count, 0);
  for (const size_t i : by_falling_size(sizes)) {
    size_t best = count;
    for (size_t b = 0; b < count; ++b)
      if (used[b] + sizes[i] <= budget && (best == count || used[b] > used[best])) best = b;
    if (best == count) return false;
    used[best] += sizes[i];
    bins[best].push_back(i);
  }
  return true;
}

// As even as they come; false = the largest bin exceeds the budget.
bool even_fit(std::span<const int64_t> sizes, int64_t budget, size_t count, Bins& bins) {
  const std::vector<double> costs(sizes.begin(), sizes.end());
  const std::vector<size_t> bin_of = partition(costs, count);
  bins.assign(count, {});
  std::vector<int64_t> used(count, 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    bins[bin_of[i]].push_back(i);
    used[bin_of[i]] += sizes[i];
  }
  return *std::max_element(used.begin(), used.end()) <= budget;
}

// Fewest bins found; sizes are at most the budget.
Bins fill_bins(std::span<const int64_t> sizes, int64_t budget, size_t min_count) {
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  auto count = std::max({static_cast<size_t>((sum + budget - 1) / budget), min_count, size_t{1}});
  Bins bins;
  while (!even_fit(sizes, budget, count, bins) && !best_fit(sizes, budget, count, bins)) ++count;
  return bins;
}

// A group that fits the budget is one unit; else its sequences are spread over as few as found.
void add_units(std::span<const SequenceSize> sequences, const std::vector<size_t>& group, int64_t budget,
               std::vector<Unit>& units) {
  const int64_t tokens = joined_tokens(sequences, group);
  if (tokens <= budget || group.size() == 1) {
    units.push_back({group, tokens});
    return;
  }
  const int64_t shared = sequences[group.front()].shared;
  std::vector<int64_t> sizes;
  std::vector<size_t> fitting;
  for (const size_t s : group) {
    if (sequences[s].length >= budget) {
      units.push_back({{s}, sequences[s].length});
      continue;
    }
    fitting.push_back(s);
    sizes.push_back(sequences[s].length - shared);
  }
  if (fitting.empty()) return;
  for (std::vector<size_t> bin : fill_bins(sizes, budget - shared, 1)) {
    if (bin.empty()) continue;
    std::sort(bin.begin(), bin.end());
    for (size_t& i : bin) i = fitting[i];
    units.push_back({bin, joined_tokens(sequences, bin)});
  }
}

std::vector<Unit> make_units(std::span<const SequenceSize> sequences, int64_t budget) {
  std::map<uint64_t, std::vector<size_t>> groups;
  std::vector<uint64_t> order;  // of first appearance
  for (size_t s = 0; s < sequences.size(); ++s) {
    std::vector<size_t>& group = groups[sequences[s].group];
    if (group.empty()) order.push_back(sequences[s].group);
    group.push_back(s);
  }
  std::vector<Unit> units;
  for (const uint64_t group : order) add_units(sequences, groups[group], budget, units);
  return units;
}

bool begins_group(std::span<const SequenceSize> sequences, size_t s) {
  return s == 0 || sequences[s - 1].group != sequences[s].group;
}

int64_t whole_group(std::span<const SequenceSize> sequences, size_t first) {
  int64_t tokens = sequences[first].length;
  for (size_t s = first + 1; s < sequences.size() && sequences[s].group == sequences[first].group; ++s)
    tokens += added(sequences[s - 1], sequences[s]);
  return tokens;
}

}  // namespace

MicroRuns cut_runs(std::span<const SequenceSize> sequences, int64_t max_tokens) {
  MicroRuns runs;
  int64_t used = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const bool starts = begins_group(sequences, s);
    const int64_t own = sequences[s].length;
    const int64_t joined = starts ? own : added(sequences[s - 1], sequences[s]);
    int64_t wanted = joined;
    if (starts && sequences[s].shared > 0) {
      const int64_t whole = whole_group(sequences, s);
      if (whole <= max_tokens) wanted = whole;
    }
    const bool full = runs.count == 0 || used + wanted > max_tokens;
    if (full) ++runs.count;
    used = full ? own : used + joined;
    runs.largest = std::max(runs.largest, used);
  }
  return runs;
}

std::vector<size_t> micro_order(std::span<const SequenceSize> sequences, int64_t max_tokens,
                                size_t min_runs) {
  const std::vector<Unit> units = make_units(sequences, max_tokens);
  std::vector<int64_t> sizes;
  std::vector<size_t> small;
  std::vector<size_t> order;
  for (size_t u = 0; u < units.size(); ++u) {
    // What exceeds the budget is alone anyway, and first.
    if (units[u].tokens >= max_tokens) {
      order.insert(order.end(), units[u].members.begin(), units[u].members.end());
    } else {
      small.push_back(u);
      sizes.push_back(units[u].tokens);
    }
  }
  if (small.empty()) return order;
  const size_t alone = units.size() - small.size();
  Bins bins = fill_bins(sizes, max_tokens, min_runs > alone ? min_runs - alone : 1);
  const auto tokens_of = [&](const std::vector<size_t>& bin) {
    return std::accumulate(bin.begin(), bin.end(), int64_t{0},
                           [&](int64_t sum, size_t i) { return sum + sizes[i]; });
  };
  // The largest unit of a bin comes first, so that it can't be taken into the bin before.
  for (std::vector<size_t>& bin : bins)
    std::stable_sort(bin.begin(), bin.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::stable_sort(bins.begin(), bins.end(),
                   [&](const auto& a, const auto& b) { return tokens_of(a) > tokens_of(b); });
  for (const std::vector<size_t>& bin : bins)
    for (const size_t i : bin)
      order.insert(order.end(), units[small[i]].members.begin(), units[small[i]].members.end());
  return order;
}

int64_t even_budget(std::span<const SequenceSize> sequences, int64_t max_tokens, size_t min_runs) {
  const size_t allowed = std::max(cut_runs(sequences, max_tokens).count, min_runs);
  // Below the largest group or sequence that fits, one of them would be cut.
  int64_t low = 1, high = max_tokens;  // `high` gives no more than allowed
  for (size_t s = 0; s < sequences.size(); ++s) {
    const int64_t whole = begins_group(sequences, s) ? whole_group(sequences, s) : 0;
    low = std::max(low, std::min(max_tokens, sequences[s].length));
    if (whole <= max_tokens) low = std::max(low, whole);
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (cut_runs(sequences, middle).count <= allowed)
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace verlc::pipeline
