#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/rng.hpp"
#include "rollout/sample/filter.hpp"
#include "rollout/sample/sampler.hpp"

using namespace verlc;
using namespace verlc::rollout;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(size_t vocab, uint64_t seed, double scale = 2) {
  RandomStream random(seed, Purpose::test);
  std::vector<float> logits(vocab);
  for (float& value : logits) value = static_cast<float>(scale * random.normal());
  return logits;
}

/// The distribution to sample from, in float64 and the plainest way.
std::vector<double> reference(std::vector<double> z, const Sampling& s, const std::vector<int32_t>& seen,
                              const std::vector<int32_t>& forbidden) {
  for (size_t i = 0; i < z.size(); ++i)
    if (std::find(seen.begin(), seen.end(), static_cast<int32_t>(i)) != seen.end())
      z[i] = z[i] > 0 ? z[i] / s.repetition_penalty : z[i] * s.repetition_penalty;
  for (const int32_t id : forbidden) z[static_cast<size_t>(id)] = -INFINITY;
  const double max = *std::max_element(z.begin(), z.end());
  std::vector<double> p(z.size());
  for (size_t i = 0; i < z.size(); ++i) p[i] = std::exp((z[i] - max) / s.temperature);
  for (double& w : p)
    if (w < s.min_p) w = 0;
  std::vector<size_t> order(z.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  if (s.top_k > 0)
    for (size_t r = static_cast<size_t>(s.top_k); r < order.size(); ++r) p[order[r]] = 0;
  const double mass = std::accumulate(p.begin(), p.end(), 0.0);
  double sum = 0;
  for (const size_t id : order) {
    if (sum >= s.top_p * mass) p[id] = 0;
    sum += p[id];
  }
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& w : p) w /= total;
  return p;
}

/// Chi-square of draws against p, over cells with an expectation of at least 5 (the rest in one cell).
struct ChiSquare {
  double value = 0;
  int cells = 0;
};
ChiSquare chi_square(const std::vector<double>& p, const std::vector<int>& counts, int draws) {
  ChiSquare result;
  double rest = 0;
  int rest_count = 0;
  const auto add = [&](double expected, int count) {
    result.value += (count - expected) * (count - expected) / expected;
    ++result.cells;
  };
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] * draws >= 5) {
      add(p[i] * draws, counts[i]);
    } else {
      rest += p[i] * draws;
      rest_count += counts[i];
    }
  }
  if (rest >= 5) add(rest, rest_count);
  return result;
}

}  // namespace

TEST_CASE("samples follow the filtered distribution") {
  const size_t vocab = 2000;
  const std::vector<float> logits = random_logits(vocab, 4);
  const std::vector<double> z(logits.begin(), logits.end());
  const std::vector<int32_t> seen{1, 5, 5, 77, 1999};
  const std::vector<int32_t> forbidden{3};
  std::vector<Sampling> cases(8);
  cases[1].temperature = 0.5;
  cases[2].top_k = 10;
  cases[3].top_p = 0.6;
  cases[4].min_p = 0.05;
  cases[5].repetition_penalty = 1.7;
  cases[6].temperature = 1.3;
  cases[6].top_p = 0.9;
  cases[6].min_p = 0.01;
  cases[6].repetition_penalty = 0.8;
  cases[6].top_k = 40;
  cases[7].top_k = 5000;
  Sampler sampler(2000);
  for (size_t c = 0; c < cases.size(); ++c) {
    CAPTURE(c);
    const std::vector<double> p = reference(z, cases[c], seen, forbidden);
    std::vector<int> counts(vocab, 0);
    const int draws = 20000;
    for (int i = 0; i < draws; ++i) {
      const SampledToken token =
          sampler.choose(logits, {&cases[c], 42 + c, static_cast<uint64_t>(i), seen, forbidden});
      REQUIRE(token.valid);
      REQUIRE(p[static_cast<size_t>(token.token)] > 0);
      ++counts[static_cast<size_t>(token.token)];
    }
    const ChiSquare chi = chi_square(p, counts, draws);
    const double degrees = std::max(chi.cells - 1, 1);
    // About five standard deviations of chi-square.
    REQUIRE(chi.value < degrees + 5 * std::sqrt(2 * degrees) + 10);
    REQUIRE(chi.cells > 3);
  }
}

TEST_CASE("the kept set is that of the plain reference") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, Purpose::test, 2);
    const size_t vocab = 1 + random.below(3000);
    const std::vector<float> logits = random_logits(vocab, seed, 1 + 4 * random.uniform());
    Sampling sampling;
    if (random.below(2) == 0) sampling.top_k = 1 + static_cast<int64_t>(random.below(vocab));
    if (random.below(2) == 0) sampling.top_p = 0.05 + 0.9 * random.uniform();
    if (random.below(2) == 0) sampling.min_p = 0.3 * random.uniform();
    const std::vector<double> p = reference({logits.begin(), logits.end()}, sampling, {}, {});
    std::vector<float> weights(vocab);
    const float max = *std::max_element(logits.begin(), logits.end());
    for (size_t i = 0; i < vocab; ++i) weights[i] = std::exp(logits[i] - max);
    std::vector<int32_t> kept;
    TokenFilter().keep(weights, sampling, kept);
    std::vector<int32_t> expected;
    for (size_t i = 0; i < vocab; ++i)
      if (p[i] > 0) expected.push_back(static_cast<int32_t>(i));
    REQUIRE(kept == expected);
  }
}

TEST_CASE("the reported log-prob is that of the whole distribution at the temperature (T12)") {
  Sampler sampler(2000);
  const std::vector<float> logits{2, 1, 0};
  Sampling sampling;
  sampling.temperature = 0.5;
  sampling.top_k = 1;
  const SampledToken token = sampler.choose(logits, {&sampling, 1, 0, {}, {}});
  REQUIRE(token.token == 0);
  REQUIRE(token.logp == Approx(-0.142932).margin(1e-6));

  const std::vector<float> wide = random_logits(49152, 9);
  for (const double temperature : {0.7, 1.0, 1.9}) {
    sampling = {};
    sampling.temperature = temperature;
    sampling.top_p = 0.8;
    sampling.repetition_penalty = 1.4;
    const SampledToken chosen = sampler.choose(wide, {&sampling, 3, 5, {}, {}});
    double sum = 0;
    for (const float z : wide) sum += std::exp(z / temperature);
    REQUIRE(chosen.logp ==
            Approx(wide[static_cast<size_t>(chosen.token)] / temperature - std::log(sum)).margin(1e-5));
  }
}

TEST_CASE("temperature 0 takes the largest logit, the smallest id among equals, with log-probs at 1") {
  Sampler sampler(2000);
  Sampling sampling;
  sampling.temperature = 0;
  const SampledToken token = sampler.choose(std::vector<float>{0, 3, 1, 3}, {&sampling, 1, 0, {}, {}});
  REQUIRE(token.token == 1);
  REQUIRE(token.logp == Approx(3 - std::log(1 + 2 * std::exp(3.0) + std::exp(1.0))).margin(1e-6));
  const std::vector<int32_t> forbidden{1};
  REQUIRE(sampler.choose(std::vector<float>{0, 3, 1, 3}, {&sampling, 1, 0, {}, forbidden}).token == 3);
}

TEST_CASE("a choice depends on seed and index, not on what was sampled before") {
  const std::vector<float> logits = random_logits(5000, 1);
  Sampling sampling;
  Sampler used(1);
  for (uint64_t i = 0; i < 50; ++i) used.choose(random_logits(3000, i), {&sampling, i, i, {}, {}});
  int differing = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    Sampler fresh(5000);
    const SampledToken a = used.choose(logits, {&sampling, 8, i, {}, {}});
    const SampledToken b = fresh.choose(logits, {&sampling, 8, i, {}, {}});
    REQUIRE(a.token == b.token);
    REQUIRE(a.logp == b.logp);
    if (a.token != fresh.choose(logits, {&sampling, 9, i, {}, {}}).token) ++differing;
  }
  REQUIRE(differing > 40);
}

TEST_CASE("broken logits are reported, masked ones are not") {
  Sampler sampler(2000);
  Sampling sampling;
  const auto valid = [&](std::vector<float> logits, std::vector<int32_t> forbidden = {}) {
    return sampler.choose(logits, {&sampling, 1, 0, {}, forbidden}).valid;
  };
  REQUIRE(valid({1, -kInfinity, 2}));
  REQUIRE_FALSE(valid({1, NAN, 2}));
  REQUIRE_FALSE(valid({1, kInfinity, 2}));
  REQUIRE_FALSE(valid({-kInfinity, -kInfinity}));
  REQUIRE_FALSE(valid({1, 2}, {0, 1}));
  sampling.temperature = 0;
  REQUIRE_FALSE(valid({1, NAN, 2}));
  REQUIRE_FALSE(valid({1, 2}, {0, 1}));
}
