#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "algorithms/exact_sum.hpp"
#include "core/base/rng.hpp"

using namespace verlc;

TEST_CASE("an exact sum is close to the long double sum and equal in any order") {
  RandomStream stream(1, Purpose::test);
  std::vector<double> terms(4000);
  long double reference = 0.0L;
  for (double& term : terms) {
    term = stream.normal() * std::ldexp(1.0, static_cast<int>(stream.below(60)) - 30);
    reference += static_cast<long double>(term);
  }
  ExactSum forward, backward;
  for (size_t i = 0; i < terms.size(); ++i) {
    forward.add(terms[i]);
    backward.add(terms[terms.size() - 1 - i]);
  }
  REQUIRE(forward.value() == backward.value());
  REQUIRE(forward.value() == Approx(static_cast<double>(reference)).epsilon(1e-14));
}

TEST_CASE("an exact sum cancels what plain addition loses") {
  ExactSum sum;
  for (const double term : {1e20, 1.0, -1e20, 0.1, -0.1}) sum.add(term);
  REQUIRE(sum.value() == 1.0);
  ExactSum one;
  one.add(0.1);
  REQUIRE(one.value() == 0.1);
}

TEST_CASE("terms that are not finite stay visible") {
  ExactSum sum;
  sum.add(1.0);
  sum.add(INFINITY);
  REQUIRE(std::isinf(sum.value()));
  sum.add(NAN);
  REQUIRE(std::isnan(sum.value()));
}
