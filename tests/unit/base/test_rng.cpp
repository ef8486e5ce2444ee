#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "core/base/rng.hpp"

using namespace verlc;

TEST_CASE("a stream is a function of its name") {
  RandomStream a(7, Purpose::sample, 3, 4), b(7, Purpose::sample, 3, 4), other(7, Purpose::sample, 4, 3);
  bool all_equal_to_other = true;
  for (int i = 0; i < 100; ++i) {
    const uint32_t value = a.next_u32();
    REQUIRE(value == b.next_u32());
    all_equal_to_other = all_equal_to_other && value == other.next_u32();
  }
  REQUIRE_FALSE(all_equal_to_other);
}

TEST_CASE("seek reaches any block without its history") {
  RandomStream walked(1, Purpose::test), jumped(1, Purpose::test);
  for (int i = 0; i < 4 * 17; ++i) walked.next_u32();
  jumped.seek(17);
  for (int i = 0; i < 8; ++i) REQUIRE(walked.next_u32() == jumped.next_u32());
}

TEST_CASE("uniform and normal have the right moments") {
  RandomStream stream(5, Purpose::test);
  double mean = 0, square = 0, uniform = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double z = stream.normal();
    mean += z / n;
    square += z * z / n;
    uniform += stream.uniform() / n;
  }
  REQUIRE(std::abs(mean) < 0.01);
  REQUIRE(std::abs(square - 1.0) < 0.02);
  REQUIRE(std::abs(uniform - 0.5) < 0.005);
}

TEST_CASE("shuffle is a permutation that depends on the stream") {
  std::vector<uint32_t> a(100), b(100);
  std::iota(a.begin(), a.end(), 0u);
  std::iota(b.begin(), b.end(), 0u);
  RandomStream epoch1(9, Purpose::shuffle, 1), epoch2(9, Purpose::shuffle, 2);
  shuffle(a, epoch1);
  shuffle(b, epoch2);
  REQUIRE(a != b);
  std::vector<uint32_t> sorted = a;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < 100; ++i) REQUIRE(sorted[i] == i);
}
