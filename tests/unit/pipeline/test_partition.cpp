#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/rng.hpp"
#include "pipeline/partition.hpp"

using namespace verlc;
using namespace verlc::pipeline;

namespace {

// The least largest sum, by trying every placement.
double optimum(const std::vector<double>& costs, size_t parts) {
  double best = INFINITY;
  std::vector<double> sums(parts, 0.0);
  const auto place = [&](auto&& self, size_t item) -> void {
    if (*std::max_element(sums.begin(), sums.end()) >= best) return;
    if (item == costs.size()) {
      best = *std::max_element(sums.begin(), sums.end());
      return;
    }
    for (double& sum : sums) {
      sum += costs[item];
      self(self, item + 1);
      sum -= costs[item];
      if (sum == 0) return;  // empty parts are alike
    }
  };
  place(place, 0);
  return best;
}

double largest(const std::vector<double>& costs, const std::vector<size_t>& part_of, size_t parts) {
  const std::vector<double> sums = part_costs(costs, part_of, parts);
  return *std::max_element(sums.begin(), sums.end());
}

std::vector<double> random_costs(RandomStream& random, size_t most) {
  std::vector<double> costs(1 + static_cast<size_t>(random.uniform() * static_cast<double>(most)));
  const double skew = 1 + 3 * random.uniform();
  // Whole numbers: sums are exact in any order.
  for (double& cost : costs) cost = std::floor(1000 * std::pow(random.uniform(), skew));
  return costs;
}

}  // namespace

TEST_CASE("the largest part is near the least possible") {
  RandomStream random(7, Purpose::test, 1, 0);
  double ratios = 0;
  constexpr int kCases = 300;
  for (int i = 0; i < kCases; ++i) {
    const size_t parts = 2 + static_cast<size_t>(i) % 3;
    const std::vector<double> costs = random_costs(random, 9);
    const double best = optimum(costs, parts), own = largest(costs, partition(costs, parts), parts);
    INFO("case " << i << ", " << costs.size() << " items, " << parts << " parts");
    CHECK(own >= best);
    CHECK(own <= best * 4 / 3);
    ratios += best > 0 ? own / best : 1;
  }
  CHECK(ratios / kCases < 1.01);
}

TEST_CASE("many items are spread to within the smallest of them") {
  RandomStream random(7, Purpose::test, 2, 0);
  for (const size_t parts : {1, 2, 3, 8, 64}) {
    std::vector<double> costs(1024);
    for (double& cost : costs) cost = std::floor(100 + 4000 * random.uniform());
    const std::vector<size_t> part_of = partition(costs, parts);
    const std::vector<double> sums = part_costs(costs, part_of, parts);
    const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
    CHECK(*high - *low <= 100);
  }
}

TEST_CASE("parts of nothing, of one item and of equal items") {
  CHECK(partition({}, 3).empty());
  CHECK(partition(std::vector<double>{5}, 3).size() == 1);
  const std::vector<double> equal(12, 2.0);
  CHECK(largest(equal, partition(equal, 4), 4) == 6.0);
  const std::vector<double> zero(5, 0.0);
  CHECK(largest(zero, partition(zero, 2), 2) == 0.0);
  CHECK(partition(equal, 4) == partition(equal, 4));
}

TEST_CASE("ranks keep what they have when nothing is gained") {
  const std::vector<double> costs = {4, 1, 1, 4};
  const std::vector<size_t> even = {0, 0, 1, 1};
  CHECK(assign_to_ranks(costs, even, 2) == even);
  // The largest sum is one item: no exchange helps.
  const std::vector<double> one_large = {100, 1, 1};
  const std::vector<size_t> owners = {0, 1, 1};
  CHECK(assign_to_ranks(one_large, owners, 2) == owners);
}

TEST_CASE("parts go to the ranks that have most of them") {
  const std::vector<double> costs = {50, 49, 5, 30, 30, 3};
  const std::vector<size_t> owners = {1, 1, 1, 0, 0, 0};
  const std::vector<size_t> ranks = assign_to_ranks(costs, owners, 2);
  const std::vector<double> sums = part_costs(costs, ranks, 2);
  CHECK(std::max(sums[0], sums[1]) < 104);
  size_t moved = 0;
  for (size_t i = 0; i < costs.size(); ++i) moved += ranks[i] != owners[i] ? 1 : 0;
  CHECK(moved <= 3);
}
