#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "algorithms/kl.hpp"
#include "batch.hpp"
#include "core/base/error.hpp"
#include "support/rank_threads.hpp"

using namespace verlc;
using test::Batch;

TEST_CASE("T9 values and derivatives of the estimators") {
  struct Row {
    double logp, ref;
    const char* name;
    double value, derivative;
  };
  const std::vector<Row> rows = {
      {-1.0, -1.5, "k1", 0.5, 1.0},  {-1.0, -1.5, "k2", 0.125, 0.5},  {-1.0, -1.5, "k3", 0.106531, 0.393469},
      {-1.5, -1.0, "k1", -0.5, 1.0}, {-1.5, -1.0, "k2", 0.125, -0.5}, {-1.5, -1.0, "k3", 0.148721, -0.648721},
      {-1.0, -1.5, "abs", 0.5, 1.0}, {-1.5, -1.0, "abs", 0.5, -1.0}};
  for (const Row& row : rows) {
    const KlTerm term = kl_term(parse_kl(row.name, "k"), row.logp, row.ref);
    REQUIRE(term.value == Approx(row.value).margin(1e-6));
    REQUIRE(term.d_logp == Approx(row.derivative).margin(1e-6));
  }
}

TEST_CASE("T9 clamps bound the value and stop its gradient") {
  const KlEstimator k3 = parse_kl("low_var_kl", "k");
  // e^3 - 3 - 1 = 16.1 lies above the clamp of 10.
  REQUIRE(kl_term(k3, -4.0, -1.0).value == 10.0);
  REQUIRE(kl_term(k3, -4.0, -1.0).d_logp == 0.0);
  // d = -30 is clamped to -20: e^-20 + 19, then to 10.
  REQUIRE(kl_term(k3, -1.0, -31.0).value == 10.0);
  REQUIRE(kl_term(k3, -1.0, -31.0).d_logp == 0.0);
  REQUIRE(kl_term(k3, -1000.0, 1000.0).value == 10.0);
  // d = -9 gives 8.0001, inside both clamps.
  REQUIRE(kl_term(k3, -1.0, -10.0).d_logp == Approx(1.0 - std::exp(-9.0)));
}

TEST_CASE("T9 expected gradients on a categorical: k1 none, k2 that of KL, k3 another; plus takes k2's") {
  const std::vector<double> logits = {0.3, -0.2, 0.7}, ref = {std::log(0.5), std::log(0.3), std::log(0.2)};
  const auto log_probs = [](const std::vector<double>& z) {
    double sum = 0.0;
    for (const double value : z) sum += std::exp(value);
    std::vector<double> out;
    for (const double value : z) out.push_back(value - std::log(sum));
    return out;
  };
  const auto kl = [&](const std::vector<double>& z) {
    double total = 0.0;
    const std::vector<double> logp = log_probs(z);
    for (size_t i = 0; i < 3; ++i) total += std::exp(logp[i]) * (logp[i] - ref[i]);
    return total;
  };
  const std::vector<double> logp = log_probs(logits);
  // E_x[f'(logp_x) d logp_x / d z_j], exactly.
  const auto expected_gradient = [&](const char* name, size_t j) {
    double total = 0.0;
    for (size_t x = 0; x < 3; ++x)
      total += std::exp(logp[x]) * kl_term(parse_kl(name, "k"), logp[x], ref[x]).d_logp *
               ((x == j ? 1.0 : 0.0) - std::exp(logp[j]));
    return total;
  };
  double value_k3 = 0.0, value_k1 = 0.0, k3_distance = 0.0;
  for (size_t x = 0; x < 3; ++x) {
    value_k3 += std::exp(logp[x]) * kl_term(parse_kl("k3+", "k"), logp[x], ref[x]).value;
    value_k1 += std::exp(logp[x]) * kl_term(parse_kl("kl", "k"), logp[x], ref[x]).value;
  }
  REQUIRE(value_k1 == Approx(kl(logits)));
  REQUIRE(value_k3 == Approx(kl(logits)));
  for (size_t j = 0; j < 3; ++j) {
    std::vector<double> up = logits, down = logits;
    up[j] += 1e-5;
    down[j] -= 1e-5;
    const double gradient = (kl(up) - kl(down)) / 2e-5;
    REQUIRE(expected_gradient("k1", j) == Approx(0.0).margin(1e-12));
    REQUIRE(expected_gradient("k2", j) == Approx(gradient).margin(1e-8));
    REQUIRE(expected_gradient("k3+", j) == Approx(gradient).margin(1e-8));
    k3_distance = std::max(k3_distance, std::abs(expected_gradient("k3", j) - gradient));
  }
  REQUIRE(k3_distance > 1e-3);
}

TEST_CASE("every KL name can be used, a wrong one is told") {
  for (const std::string& name : kl_names())
    REQUIRE(std::isfinite(kl_term(parse_kl(name, "k"), -1.0, -1.2).value));
  REQUIRE_THROWS_WITH(parse_kl("full", "actor.kl_loss_type"), Catch::Contains("actor.kl_loss_type"));
  REQUIRE_THROWS_AS(parse_kl("+", "k"), Error);
}

TEST_CASE("controllers: fixed stays, adaptive moves by at most a fifth of samples / horizon") {
  KlController fixed({.kl_coef = 0.5});
  fixed.update(100.0, 1000.0);
  REQUIRE(fixed.coef() == 0.5);
  KlController adaptive({.adaptive = true, .kl_coef = 0.5, .target_kl = 0.1, .horizon = 1000.0});
  adaptive.update(0.11, 100.0);
  REQUIRE(adaptive.coef() == Approx(0.5 * (1.0 + 0.1 * 0.1)));
  KlController clipped({.adaptive = true, .kl_coef = 0.5, .target_kl = 0.1, .horizon = 1000.0});
  clipped.update(9.0, 100.0);
  REQUIRE(clipped.coef() == Approx(0.5 * (1.0 + 0.2 * 0.1)));
  clipped.update(0.0, 100.0);
  REQUIRE(clipped.coef() == Approx(0.5 * 1.02 * 0.98));
  KlController resumed({.adaptive = true});
  resumed.restore(nlohmann::json::parse(clipped.state().dump()));
  REQUIRE(resumed.coef() == clipped.coef());
  REQUIRE_THROWS_AS(resumed.restore(nlohmann::json::array()), Error);
}

TEST_CASE("KL in reward: scores minus coefficient x KL, mean over sequences, equal on any ranks") {
  const std::vector<float> scores = {0, 0, 1, 0, 2, 0, 1, 1}, logp = {-1, -2, -1, -3, -1, -1, -2, -1},
                           ref = {-1.5F, -2, -2, -3, -1.25F, -1, -1, -1};
  const Batch whole({{1, 1, 1, 0}, {1, 0}, {0}, {1}});
  const auto run = [&](const Batch& batch, size_t first, KlController& controller, GroupReducer& group) {
    const size_t n = batch.mask.size();
    return apply_kl_penalty(batch.layout(), std::span(scores).subspan(first, n),
                            std::span(logp).subspan(first, n), std::span(ref).subspan(first, n),
                            parse_kl("kl", "k"), controller, group);
  };
  const KlControlParams params{.adaptive = true, .kl_coef = 0.5, .target_kl = 0.1, .horizon = 100.0};
  KlController one(params);
  LocalReducer local;
  const KlPenaltyResult result = run(whole, 0, one, local);
  REQUIRE(result.rewards == std::vector<float>{-0.25F, 0, 0.5F, 0, 1.875F, 0, 0, 1});
  REQUIRE(result.coef == 0.5);
  REQUIRE(result.mean_kl == Approx((0.5 + 0.25 + 0.0) / 3.0));
  std::vector<double> means(2), coefs(2);
  test::run_ranks(2, [&](size_t rank, GroupReducer& group) {
    KlController mine(params);
    const Batch part = rank == 0 ? Batch({{1, 1, 1, 0}}) : Batch({{1, 0}, {0}, {1}});
    means[rank] = run(part, rank == 0 ? 0 : 4, mine, group).mean_kl;
    coefs[rank] = mine.coef();
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(means[rank] == result.mean_kl);
    REQUIRE(coefs[rank] == one.coef());
  }
}
