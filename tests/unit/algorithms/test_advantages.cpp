#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "algorithms/advantage.hpp"
#include "algorithms/filters.hpp"
#include "batch.hpp"
#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "support/rank_threads.hpp"

using namespace verlc;
using test::Batch;

namespace {

std::vector<float> advantages_of(const std::string& name, const Batch& batch,
                                 const std::vector<float>& rewards, const std::vector<uint64_t>& uids,
                                 const AdvantageParams& params = {}) {
  const AdvantageRegistry registry = make_advantage_registry();
  LocalReducer group;
  const AdvantageInput input{.layout = batch.layout(), .rewards = rewards, .uids = uids};
  return registry.find(name, "algorithm.adv_estimator").compute(input, params, group).advantages;
}

std::vector<float> raw_gae(const Batch& batch, const std::vector<float>& rewards,
                           const std::vector<float>& values, double lam) {
  return gae_advantages({.layout = batch.layout(), .rewards = rewards, .values = values},
                        {.gamma = 1.0, .lam = lam})
      .advantages;
}

void require_close(const std::vector<float>& got, const std::vector<double>& expected, double margin = 1e-6) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == Approx(expected[i]).margin(margin));
}

}  // namespace

TEST_CASE("T6 group deviations of [1,0,0,0] for each ddof and eps") {
  const Batch batch = test::one_token_samples(4);
  const std::vector<float> rewards = {1, 0, 0, 0};
  const std::vector<uint64_t> uids = {7, 7, 7, 7};
  require_close(advantages_of("grpo", batch, rewards, uids), {1.499997, -0.499999, -0.499999, -0.499999});
  require_close(advantages_of("grpo", batch, rewards, uids, {.eps = 1e-4}),
                {1.4997, -0.4999, -0.4999, -0.4999}, 1e-5);
  require_close(advantages_of("grpo", batch, rewards, uids, {.ddof = 0}),
                {1.732047, -0.577349, -0.577349, -0.577349});
  require_close(advantages_of("rloo", batch, rewards, uids), {1.0, -1.0 / 3, -1.0 / 3, -1.0 / 3});
}

TEST_CASE("T8 without the deviation grpo is plain mean subtraction") {
  const Batch batch = test::one_token_samples(4);
  require_close(advantages_of("grpo", batch, {1, 0, 0, 0}, {7, 7, 7, 7}, {.norm_adv_by_std_in_grpo = false}),
                {0.75, -0.25, -0.25, -0.25}, 0.0);
}

TEST_CASE("equal rewards have advantage 0 exactly, whatever their value") {
  const Batch batch = test::one_token_samples(7);
  const std::vector<float> advantages =
      advantages_of("grpo", batch, std::vector<float>(7, 0.1F), std::vector<uint64_t>(7, 3));
  for (const float advantage : advantages) REQUIRE(advantage == 0.0F);
}

TEST_CASE("T6 a group of one is rejected, naming the key") {
  const Batch batch = test::one_token_samples(3);
  for (const char* name : {"grpo", "rloo", "grpo_passk", "opo", "gpg", "reinforce_plus_plus_baseline"})
    REQUIRE_THROWS_WITH(advantages_of(name, batch, {1, 0, 1}, {1, 1, 2}),
                        Catch::Contains("rollout.n") && Catch::Contains("uid 2"));
}

TEST_CASE("T17 rewards to go step over observations, one gamma a trainable token") {
  const Batch batch({{1, 0, 1}});
  REQUIRE(rewards_to_go(batch.layout(), std::vector<float>{0, NAN, 1}, 0.5) ==
          std::vector<float>{0.5F, 0, 1});
}

TEST_CASE("equal rewards of a group have advantage 0 exactly in every estimator that says so") {
  const Batch batch = test::one_token_samples(6);
  const AdvantageRegistry registry = make_advantage_registry();
  for (const Advantage& estimator : registry.units()) {
    if (!estimator.zero_for_equal) continue;
    INFO(estimator.name);
    const std::vector<float> advantages = advantages_of(
        std::string(estimator.name), batch, {0.1F, 0.7F, 0.1F, 0.7F, 0.1F, 0.7F}, {1, 2, 1, 2, 1, 2});
    for (const float advantage : advantages) REQUIRE(advantage == 0.0F);
  }
}

TEST_CASE("grpo groups by uid, interleaved, and broadcasts over loss tokens only") {
  const Batch batch({{1, 1, 0}, {1}, {0, 1}, {1}});
  // The reward of a sample is the sum over its loss tokens; the junk at masked slots is not read.
  const std::vector<float> rewards = {0.5F, 0.5F, NAN, 3, 1e30F, 0, 5};
  require_close(advantages_of("grpo", batch, rewards, {1, 2, 1, 2}, {.norm_adv_by_std_in_grpo = false}),
                {0.5, 0.5, 0, -1, 0, -0.5, 1}, 0.0);
}

TEST_CASE("a fully masked sample keeps its outcome in the group when outcomes are given") {
  const Batch batch({{1}, {0}});
  const std::vector<float> rewards(2, 0.0F);
  const std::vector<double> outcomes = {1.0, 0.0};
  const std::vector<uint64_t> uids = {1, 1};
  LocalReducer group;
  const AdvantageRegistry registry = make_advantage_registry();
  const AdvantageOutput out =
      registry.find("grpo", "k")
          .compute({.layout = batch.layout(), .rewards = rewards, .outcomes = outcomes, .uids = uids},
                   {.norm_adv_by_std_in_grpo = false}, group);
  require_close(out.advantages, {0.5, 0.0}, 0.0);
}

TEST_CASE("T7 zero-variance groups: max - min in double, keyed by uid") {
  // 0.1 + 0.2 and 0.3 differ by rounding only; equal prompts under two uids are two groups.
  const std::vector<double> rewards = {0.1 + 0.2, 0.3, 1, 0, 1, 1};
  const std::vector<uint64_t> uids = {1, 1, 2, 2, 3, 3};
  REQUIRE(zero_variance_samples(rewards, uids) == std::vector<uint8_t>{0, 0, 0, 0, 1, 1});
  REQUIRE(zero_variance_samples(rewards, uids, 1e-9) == std::vector<uint8_t>{1, 1, 0, 0, 1, 1});
  const std::vector<double> tenths(5, 0.1);
  REQUIRE(zero_variance_samples(tenths, std::vector<uint64_t>(5, 9)) == std::vector<uint8_t>(5, 1));
  const std::vector<double> broken = {NAN, NAN};
  REQUIRE(zero_variance_samples(broken, std::vector<uint64_t>{1, 1}) == std::vector<uint8_t>{0, 0});
  REQUIRE(lone_samples(std::vector<uint64_t>{5, 6, 5}) == std::vector<uint8_t>{0, 1, 0});
}

TEST_CASE("T15 GAE steps over observation tokens") {
  require_close(raw_gae(Batch({{1, 1, 0}}), {0, 1, 0}, {0, 0, 100}, 0.95), {0.95, 1, 0});
  require_close(raw_gae(Batch({{1, 1, 0, 0, 1, 1}}), {0, 0, 0, 0, 0, 1}, {.1F, .2F, 9, 9, .3F, .4F}, 0.95),
                {0.799675, 0.7365, 0, 0, 0.67, 0.6});
}

TEST_CASE("T16 an outcome sits on the last trainable token") {
  const Batch batch({{1, 1, 0}, {0, 0}, {0, 1}});
  const std::vector<double> outcomes = {1, 5, 2};
  const std::vector<float> rewards = place_outcomes(batch.layout(), outcomes);
  REQUIRE(rewards == std::vector<float>{0, 1, 0, 0, 0, 0, 2});
  require_close(raw_gae(batch, rewards, std::vector<float>(7, 0.0F), 0.95), {0.95, 1, 0, 0, 0, 0, 2});
}

TEST_CASE("T10 GAE and grpo are bit-equal under junk at masked slots") {
  const Batch batch({{1, 1, 0, 1}, {0, 1, 1}});
  const std::vector<uint64_t> uids = {1, 1};
  std::vector<float> rewards = {0, 0, 0, 1, 0, 0, 0.5F}, values = {.1F, .2F, 0, .3F, 0, .4F, .5F};
  const AdvantageRegistry registry = make_advantage_registry();
  LocalReducer group;
  for (const char* name : {"gae", "grpo", "rloo"}) {
    const auto compute = registry.find(name, "k").compute;
    const AdvantageInput input{.layout = batch.layout(), .rewards = rewards, .uids = uids, .values = values};
    const AdvantageOutput clean = compute(input, {}, group);
    for (const float junk : {std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
      std::vector<float> dirty_rewards = rewards, dirty_values = values;
      for (const size_t slot : {2, 4}) dirty_rewards[slot] = dirty_values[slot] = junk;
      const AdvantageOutput dirty =
          compute({.layout = batch.layout(), .rewards = dirty_rewards, .uids = uids, .values = dirty_values},
                  {}, group);
      REQUIRE(dirty.advantages == clean.advantages);
      REQUIRE(dirty.returns == clean.returns);
    }
  }
}

TEST_CASE("T18 whitening: masked moments, re-masked, skipped below two tokens") {
  LocalReducer group;
  std::vector<float> values = {1, NAN, 3, 5};
  whiten(values, std::vector<uint8_t>{1, 0, 1, 1}, group);
  require_close(values, {-1, 0, 0, 1});
  std::vector<float> lone = {4, 1e30F};
  whiten(lone, std::vector<uint8_t>{1, 0}, group);
  REQUIRE(lone == std::vector<float>{4, 0});
  std::vector<float> none;
  whiten(none, {}, group);
}

TEST_CASE("T18 whitening is bit-equal for any spread over ranks, also with an empty rank") {
  RandomStream stream(3, Purpose::test);
  std::vector<float> all(96);
  std::vector<uint8_t> mask(96);
  for (size_t t = 0; t < all.size(); ++t) {
    all[t] = static_cast<float>(stream.normal() * 3 + 1);
    mask[t] = stream.below(4) != 0 ? 1 : 0;
  }
  std::vector<float> expected = all;
  LocalReducer local;
  whiten(expected, mask, local);
  for (const std::vector<size_t>& cuts : {std::vector<size_t>{0, 48, 96}, std::vector<size_t>{0, 0, 5, 96},
                                          std::vector<size_t>{0, 1, 2, 90, 96}}) {
    std::vector<float> got = all;
    test::run_ranks(cuts.size() - 1, [&](size_t rank, GroupReducer& group) {
      const size_t length = cuts[rank + 1] - cuts[rank];
      whiten(std::span(got).subspan(cuts[rank], length), std::span(mask).subspan(cuts[rank], length), group);
    });
    REQUIRE(got == expected);
  }
}

TEST_CASE("an unknown estimator lists the valid and the nearest names") {
  REQUIRE_THROWS_WITH(make_advantage_registry().find("grp", "algorithm.adv_estimator"),
                      Catch::Contains("algorithm.adv_estimator") && Catch::Contains("did you mean grpo") &&
                          Catch::Contains("gae"));
}
