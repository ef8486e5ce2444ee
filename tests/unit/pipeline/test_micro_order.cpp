#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "core/base/rng.hpp"
#include "pipeline/micro_order.hpp"

using namespace verlc;
using namespace verlc::pipeline;

namespace {

std::vector<SequenceSize> ordered(const std::vector<SequenceSize>& all, const std::vector<size_t>& order) {
  std::vector<SequenceSize> result;
  for (const size_t i : order) result.push_back(all[i]);
  return result;
}

bool is_permutation_of(size_t count, std::vector<size_t> order) {
  std::sort(order.begin(), order.end());
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return order == all;
}

std::vector<SequenceSize> random_sequences(RandomStream& random, size_t groups, size_t samples, bool share) {
  std::vector<SequenceSize> result;
  for (size_t g = 0; g < groups; ++g) {
    const auto prompt = static_cast<int64_t>(5 + random.below(30));
    for (size_t i = 0; i < samples; ++i)
      result.push_back({g, share ? prompt : 0, prompt + 1 + static_cast<int64_t>(random.below(100))});
  }
  return result;
}

// Tokens of each group, standing together.
std::vector<int64_t> group_sizes(const std::vector<SequenceSize>& all) {
  std::vector<int64_t> sizes;
  for (size_t s = 0; s < all.size(); ++s) {
    if (s == 0 || all[s].group != all[s - 1].group)
      sizes.push_back(all[s].length);
    else
      sizes.back() += all[s].length - all[s].shared;
  }
  return sizes;
}

struct Best {
  size_t bins = SIZE_MAX;
  int64_t largest = INT64_MAX;  // of the evenest placement in that many
};

// Fewest bins and then the smallest largest bin, by trying every placement.
Best optimum(const std::vector<int64_t>& sizes, int64_t budget) {
  Best best;
  std::vector<int64_t> used;
  const auto place = [&](auto&& self, size_t item) -> void {
    if (used.size() > best.bins) return;
    if (item == sizes.size()) {
      const int64_t largest = *std::max_element(used.begin(), used.end());
      if (used.size() < best.bins || largest < best.largest) best = {used.size(), largest};
      return;
    }
    for (size_t b = 0; b < used.size(); ++b) {
      if (used[b] + sizes[item] > budget) continue;
      used[b] += sizes[item];
      self(self, item + 1);
      used[b] -= sizes[item];
    }
    used.push_back(sizes[item]);
    self(self, item + 1);
    used.pop_back();
  };
  place(place, 0);
  return best;
}

}  // namespace

TEST_CASE("micro-batches are as few as possible, and even") {
  RandomStream random(11, Purpose::test, 1, 0);
  int more = 0;
  double ratios = 0;
  constexpr int kCases = 200;
  for (int i = 0; i < kCases; ++i) {
    INFO("case " << i);
    const std::vector<SequenceSize> all =
        random_sequences(random, 1 + random.below(8), 1 + random.below(4), i % 2 == 0);
    std::vector<SequenceSize> whole = all;
    for (SequenceSize& each : whole)
      if (i % 2 != 0) each.group = static_cast<uint64_t>(&each - whole.data());
    const std::vector<int64_t> sizes = group_sizes(whole);
    if (sizes.size() > 9) continue;
    const int64_t budget =
        *std::max_element(sizes.begin(), sizes.end()) + static_cast<int64_t>(random.below(300));
    const std::vector<size_t> order = micro_order(whole, budget, 1);
    REQUIRE(is_permutation_of(all.size(), order));
    const std::vector<SequenceSize> packed = ordered(whole, order);
    const int64_t even = even_budget(packed, budget, 1);
    REQUIRE(even <= budget);
    const MicroRuns runs = cut_runs(packed, even);
    const Best best = optimum(sizes, budget);
    CHECK(runs.largest <= even);
    CHECK(runs.count <= best.bins + 1);
    more += runs.count > best.bins ? 1 : 0;
    if (runs.count == best.bins)
      ratios += static_cast<double>(runs.largest) / static_cast<double>(best.largest) - 1;
  }
  CHECK(more <= kCases / 50);
  CHECK(ratios / kCases < 0.03);
}

TEST_CASE("groups stay together unless they exceed the budget") {
  RandomStream random(11, Purpose::test, 2, 0);
  const std::vector<SequenceSize> all = random_sequences(random, 40, 8, true);
  const std::vector<SequenceSize> packed = ordered(all, micro_order(all, 2000, 1));
  std::set<uint64_t> over;
  for (size_t s = 1; s < packed.size(); ++s)
    if (packed[s].group != packed[s - 1].group) CHECK(over.insert(packed[s - 1].group).second);
  // Every group that exceeds the budget is spread over as few micro-batches as its tokens need.
  const std::vector<SequenceSize> long_group = {{7, 20, 60}, {7, 20, 80}, {7, 20, 70}, {7, 20, 50}};
  const std::vector<size_t> order = micro_order(long_group, 120, 1);
  REQUIRE(is_permutation_of(4, order));
  CHECK(cut_runs(ordered(long_group, order), 120).count == 2);
}

TEST_CASE("long sequences are alone, an empty batch has no micro-batch") {
  CHECK(micro_order({}, 10, 1).empty());
  CHECK(cut_runs({}, 10).count == 0);
  CHECK(even_budget({}, 10, 1) >= 1);
  const std::vector<SequenceSize> all = {{1, 0, 5}, {1, 0, 500}, {2, 0, 4}};
  const std::vector<size_t> order = micro_order(all, 10, 1);
  REQUIRE(is_permutation_of(3, order));
  const MicroRuns runs = cut_runs(ordered(all, order), 10);
  CHECK(runs.count == 2);
  CHECK(runs.largest == 500);
}

TEST_CASE("as many micro-batches as another rank needs, each a smaller one") {
  std::vector<SequenceSize> all;
  for (uint64_t g = 0; g < 12; ++g) all.push_back({g, 0, 10});
  for (const size_t wanted : {1, 2, 3, 4, 6}) {
    const std::vector<SequenceSize> packed = ordered(all, micro_order(all, 60, wanted));
    const MicroRuns runs = cut_runs(packed, even_budget(packed, 60, wanted));
    CHECK(runs.count == std::max<size_t>(wanted, 2));
    CHECK(runs.largest == 120 / static_cast<int64_t>(runs.count));
  }
}
