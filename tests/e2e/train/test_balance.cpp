// Balancing moves samples between ranks and micro-batches and changes no result.
#include <catch2/catch.hpp>

#include "e2e/train/job.hpp"

using namespace verlc;
using namespace verlc::e2e;

TEST_CASE("ranks with balanced batches learn what unbalanced ones do", "[runs]") {
  const Scratch scratch;
  for (const int ranks : {2, 4}) {
    INFO(ranks << " ranks");
    std::vector<nlohmann::json> metrics[2];
    std::string samples[2];
    for (const int balance : {0, 1}) {
      const fs::path out = scratch.path() / (std::to_string(ranks) + std::to_string(balance));
      const Result result = run(train_plugin(
          ranks, out,
          {balance == 1 ? "trainer.balance_batch=true" : "trainer.balance_batch=false",
           "data.max_response_length=48", "data.train_batch_size=16", "actor.ppo_mini_batch_size=8",
           "trainer.total_training_steps=2", "trainer.total_epochs=8"}));
      INFO(result.output);
      REQUIRE(result.code == 0);
      metrics[balance] = read_jsonl(out / "plugin/metrics.jsonl");
      samples[balance] = read_rollouts(out / "plugin", 1, ranks);
    }
    CHECK(samples[0] == samples[1]);
    REQUIRE(metrics[0].size() == metrics[1].size());
    double before = 0, after = 0;
    for (size_t i = 0; i < metrics[0].size(); ++i) {
      const nlohmann::json &plain = metrics[0][i], &balanced = metrics[1][i];
      CHECK(plain["global_seqlen/balanced_max"] == plain["global_seqlen/max"]);
      CHECK(plain["balance/work_ratio"] == plain["balance/work_ratio_before"]);
      CHECK(balanced["balance/work_ratio"] <= balanced["balance/work_ratio_before"]);
      before += balanced["balance/work_ratio_before"].get<double>();
      after += balanced["balance/work_ratio"].get<double>();
      CHECK(balanced["training/rollout_probs_diff_max"] == 0.0);
    }
    CHECK(after < before);
    for (const char* name : {"critic/score/mean", "critic/advantages/max", "actor/pg_loss", "actor/grad_norm",
                             "actor/entropy", "response_length/mean", "perf/total_num_tokens"}) {
      INFO(name);
      CHECK(metrics[1][0][name].get<double>() ==
            Approx(metrics[0][0][name].get<double>()).epsilon(1e-6).margin(1e-7));
    }
  }
}

TEST_CASE("any budget of a micro-batch gives the same step", "[runs]") {
  const Scratch scratch;
  std::vector<nlohmann::json> expected;
  for (const char* budget : {"100000", "64", "20"}) {
    INFO(budget);
    const fs::path out = scratch.path() / budget;
    const Result result = run(
        train_plugin(2, out,
                     {"actor.use_dynamic_bsz=true", std::string("actor.ppo_max_token_len_per_gpu=") + budget,
                      "trainer.total_training_steps=1"}));
    INFO(result.output);
    REQUIRE(result.code == 0);
    const std::vector<nlohmann::json> metrics = read_jsonl(out / "plugin/metrics.jsonl");
    REQUIRE(metrics.size() == 1);
    if (expected.empty()) expected = metrics;
    for (const char* name : {"actor/pg_loss", "actor/grad_norm", "actor/entropy"})
      CHECK(metrics[0][name].get<double>() ==
            Approx(expected[0][name].get<double>()).epsilon(1e-6).margin(1e-7));
  }
}
