#include "pipeline/partition.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "core/base/check.hpp"

namespace verlc::pipeline {
namespace {

struct Subset {
  double cost = 0;
  std::vector<size_t> items;
};

// A partial partition: subsets by falling cost.
struct Candidate {
  std::vector<Subset> subsets;
  size_t order = 0;  // of making, to break ties
  [[nodiscard]] double spread() const { return subsets.front().cost - subsets.back().cost; }
};

struct LessUrgent {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.spread() != b.spread()) return a.spread() < b.spread();
    return a.order > b.order;
  }
};

// The largest subset of one joins the smallest of the other.
Candidate combine(Candidate a, Candidate b) {
  const size_t parts = a.subsets.size();
  for (size_t p = 0; p < parts; ++p) {
    Subset& to = a.subsets[p];
    Subset& from = b.subsets[parts - 1 - p];
    to.cost += from.cost;
    to.items.insert(to.items.end(), from.items.begin(), from.items.end());
  }
  std::stable_sort(a.subsets.begin(), a.subsets.end(),
                   [](const Subset& x, const Subset& y) { return x.cost > y.cost; });
  return a;
}

std::vector<Subset> differencing(std::span<const double> costs, size_t parts) {
  std::vector<Candidate> heap;
  for (size_t i = 0; i < costs.size(); ++i) {
    Candidate single;
    single.subsets.resize(parts);
    single.subsets.front() = {costs[i], {i}};
    single.order = i;
    heap.push_back(std::move(single));
  }
  if (heap.empty()) return std::vector<Subset>(parts);
  std::make_heap(heap.begin(), heap.end(), LessUrgent());
  const auto pop = [&] {
    std::pop_heap(heap.begin(), heap.end(), LessUrgent());
    Candidate top = std::move(heap.back());
    heap.pop_back();
    return top;
  };
  for (size_t order = costs.size(); heap.size() > 1; ++order) {
    Candidate first = pop();
    Candidate joined = combine(std::move(first), pop());
    joined.order = order;
    heap.push_back(std::move(joined));
    std::push_heap(heap.begin(), heap.end(), LessUrgent());
  }
  return std::move(heap.front().subsets);
}

struct Exchange {
  double larger = 0;  // of the two sums afterwards
  size_t give = 0, other = 0, take = 0;
  bool swaps = false;
};

// The best move or swap between the largest part and another; false = none lowers the larger of the two sums.
bool best_exchange(std::span<const double> costs, const std::vector<Subset>& parts, size_t from,
                   Exchange& best) {
  best.larger = parts[from].cost;
  bool found = false;
  for (size_t g = 0; g < parts[from].items.size(); ++g) {
    const double give = costs[parts[from].items[g]];
    for (size_t p = 0; p < parts.size(); ++p) {
      if (p == from) continue;
      const auto consider = [&](double take, bool swaps, size_t index) {
        const double larger = std::max(parts[from].cost - give + take, parts[p].cost + give - take);
        if (!(larger < best.larger)) return;
        best = {larger, g, p, index, swaps};
        found = true;
      };
      consider(0, false, 0);
      for (size_t t = 0; t < parts[p].items.size(); ++t) consider(costs[parts[p].items[t]], true, t);
    }
  }
  return found;
}

void improve(std::span<const double> costs, std::vector<Subset>& parts) {
  const auto sum = [&](Subset& part) {
    part.cost = 0;
    for (const size_t i : part.items) part.cost += costs[i];
  };
  for (Subset& part : parts) {
    std::sort(part.items.begin(), part.items.end());
    sum(part);
  }
  const auto less = [](const Subset& a, const Subset& b) { return a.cost < b.cost; };
  for (size_t round = 0; round < costs.size(); ++round) {
    const auto from = static_cast<size_t>(std::max_element(parts.begin(), parts.end(), less) - parts.begin());
    Exchange best;
    if (!best_exchange(costs, parts, from, best)) return;
    const double before = parts[from].cost;
    Subset& other = parts[best.other];
    other.items.push_back(parts[from].items[best.give]);
    parts[from].items.erase(parts[from].items.begin() + static_cast<std::ptrdiff_t>(best.give));
    if (best.swaps) {
      parts[from].items.push_back(other.items[best.take]);
      other.items.erase(other.items.begin() + static_cast<std::ptrdiff_t>(best.take));
    }
    sum(parts[from]);
    sum(other);
    // Rounding can make an exchange of equals look like a gain.
    if (std::max(parts[from].cost, other.cost) >= before) return;
  }
}

}  // namespace

std::vector<size_t> partition(std::span<const double> costs, size_t parts) {
  check(parts > 0, "there is a part to put items into");
  std::vector<Subset> subsets = differencing(costs, parts);
  improve(costs, subsets);
  std::vector<size_t> part_of(costs.size(), 0);
  for (size_t p = 0; p < parts; ++p)
    for (const size_t i : subsets[p].items) part_of[i] = p;
  return part_of;
}

std::vector<double> part_costs(std::span<const double> costs, std::span<const size_t> part_of, size_t parts) {
  std::vector<double> sums(parts, 0.0);
  for (size_t i = 0; i < costs.size(); ++i) sums[part_of[i]] += costs[i];
  return sums;
}

std::vector<size_t> assign_to_ranks(std::span<const double> costs, std::span<const size_t> owners,
                                    size_t ranks) {
  check(owners.size() == costs.size(), "every item has an owner");
  const std::vector<size_t> part_of = partition(costs, ranks);
  const auto largest = [&](std::span<const size_t> of) {
    const std::vector<double> sums = part_costs(costs, of, ranks);
    return *std::max_element(sums.begin(), sums.end());
  };
  if (!(largest(part_of) < largest(owners))) return {owners.begin(), owners.end()};
  struct Overlap {
    double cost = 0;
    size_t part = 0, rank = 0;
  };
  std::vector<double> shared(ranks * ranks, 0.0);
  for (size_t i = 0; i < costs.size(); ++i) shared[part_of[i] * ranks + owners[i]] += costs[i];
  std::vector<Overlap> overlaps;
  for (size_t p = 0; p < ranks; ++p)
    for (size_t r = 0; r < ranks; ++r) overlaps.push_back({shared[p * ranks + r], p, r});
  std::stable_sort(overlaps.begin(), overlaps.end(),
                   [](const Overlap& a, const Overlap& b) { return a.cost > b.cost; });
  std::vector<size_t> rank_of_part(ranks, ranks);
  std::vector<bool> taken(ranks, false);
  for (const Overlap& overlap : overlaps) {
    if (rank_of_part[overlap.part] != ranks || taken[overlap.rank]) continue;
    rank_of_part[overlap.part] = overlap.rank;
    taken[overlap.rank] = true;
  }
  std::vector<size_t> rank_of(costs.size());
  for (size_t i = 0; i < costs.size(); ++i) rank_of[i] = rank_of_part[part_of[i]];
  return rank_of;
}

}  // namespace verlc::pipeline
