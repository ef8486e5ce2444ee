#include <catch2/catch.hpp>
#include <set>

#include "core/base/error.hpp"
#include "data/row_sampler.hpp"

using namespace verlc;

namespace {

using Steps = std::vector<std::vector<uint32_t>>;

Steps rest_of(RowSampler& sampler) {
  Steps steps;
  while (!sampler.complete()) steps.push_back(sampler.next());
  return steps;
}

// What a run that stops after `steps` and resumes from its serialised state still does.
Steps resumed(const RowSamplerConfig& config, size_t steps) {
  RowSampler first(config);
  for (size_t i = 0; i < steps; ++i) first.next();
  RowSampler second(config);
  second.restore(nlohmann::json::parse(first.state().dump()));
  REQUIRE(second.steps_done() == steps);
  return rest_of(second);
}

const RowSamplerConfig kFixture{.rows = 64, .batch_size = 8, .seed = 42, .epochs = 2, .digest = "d"};

}  // namespace

TEST_CASE("B15 resume at the epoch's end, at the run's end and inside an epoch") {
  RowSampler whole(kFixture);
  REQUIRE(whole.total_steps() == 16);
  const Steps all = rest_of(whole);
  REQUIRE(all.size() == 16);
  // From step 8: steps 9 to 16 over epoch 2's own permutation.
  REQUIRE(resumed(kFixture, 8) == Steps(all.begin() + 8, all.end()));
  std::vector<uint32_t> epoch1, epoch2;
  for (size_t i = 0; i < 8; ++i) {
    epoch1.insert(epoch1.end(), all[i].begin(), all[i].end());
    epoch2.insert(epoch2.end(), all[8 + i].begin(), all[8 + i].end());
  }
  REQUIRE(epoch1 != epoch2);
  REQUIRE(std::set<uint32_t>(epoch2.begin(), epoch2.end()).size() == 64);
  // From step 16: nothing is left.
  REQUIRE(resumed(kFixture, 16).empty());
  RowSampler done(kFixture);
  done.restore(whole.state());
  REQUIRE(done.complete());
  // From step 5: rows 41 to 64 of epoch 1's order first.
  const Steps tail = resumed(kFixture, 5);
  REQUIRE(tail == Steps(all.begin() + 5, all.end()));
  for (size_t i = 0; i < 24; ++i) REQUIRE(tail[i / 8][i % 8] == epoch1[40 + i]);
}

TEST_CASE("every step can be resumed from, with rows that fill no batch") {
  const RowSamplerConfig config{.rows = 21, .batch_size = 4, .seed = 1, .epochs = 3};
  RowSampler whole(config);
  const Steps all = rest_of(whole);
  REQUIRE(all.size() == 15);
  for (size_t step = 0; step <= 15; ++step)
    REQUIRE(resumed(config, step) == Steps(all.begin() + static_cast<std::ptrdiff_t>(step), all.end()));
  std::set<uint32_t> epoch;
  for (size_t i = 0; i < 5; ++i) epoch.insert(all[i].begin(), all[i].end());
  REQUIRE(epoch.size() == 20);
}

TEST_CASE("without shuffling rows come in file order; total_steps may cut or extend") {
  RowSampler sampler({.rows = 5, .batch_size = 2, .shuffle = false, .epochs = 1, .total_steps = 3});
  REQUIRE(rest_of(sampler) == Steps{{0, 1}, {2, 3}, {0, 1}});
  REQUIRE(sampler.epoch() == 1);
}

TEST_CASE("fewer rows than a batch, and changed data or keys, are told") {
  REQUIRE_THROWS_WITH(RowSampler({.rows = 3, .batch_size = 4}), Catch::Contains("data.train_batch_size"));
  RowSampler sampler(kFixture);
  sampler.next();
  const nlohmann::json state = sampler.state();
  const auto resume_with = [&](const std::function<void(RowSamplerConfig&)>& change) {
    RowSamplerConfig config = kFixture;
    change(config);
    RowSampler other(config);
    other.restore(state);
  };
  REQUIRE_THROWS_WITH(resume_with([](RowSamplerConfig& c) { c.digest.append("e"); }),
                      Catch::Contains("data.train_files"));
  REQUIRE_THROWS_WITH(resume_with([](RowSamplerConfig& c) { c.rows = 65; }),
                      Catch::Contains("number of rows"));
  REQUIRE_THROWS_WITH(resume_with([](RowSamplerConfig& c) { c.batch_size = 4; }),
                      Catch::Contains("train_batch_size"));
  REQUIRE_THROWS_WITH(resume_with([](RowSamplerConfig& c) { c.seed = 1; }), Catch::Contains("data.seed"));
  REQUIRE_THROWS_WITH(resume_with([](RowSamplerConfig& c) { c.shuffle = false; }),
                      Catch::Contains("data.shuffle"));
  for (const char* broken :
       {"[]", "null", "{}", R"({"epoch":-1})",
        R"({"epoch":0,"position":65,"rows":64,"batch_size":8,"seed":42,"shuffle":true,"digest":"d"})",
        R"({"epoch":0,"position":3,"rows":64,"batch_size":8,"seed":42,"shuffle":true,"digest":"d"})"}) {
    RowSampler other(kFixture);
    REQUIRE_THROWS_AS(other.restore(nlohmann::json::parse(broken)), Error);
  }
}
