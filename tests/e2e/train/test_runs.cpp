// What whole runs give: metrics, samples, models; and that they do not depend on the number of ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "core/base/file.hpp"
#include "e2e/train/job.hpp"

using namespace verlc;
using namespace verlc::e2e;

namespace {

constexpr const char* kMetricNames[] = {"actor/entropy",
                                        "actor/grad_norm",
                                        "actor/lr",
                                        "actor/pg_clipfrac",
                                        "actor/pg_loss",
                                        "actor/ppo_kl",
                                        "critic/score/mean",
                                        "critic/score/max",
                                        "critic/score/min",
                                        "critic/rewards/mean",
                                        "critic/advantages/mean",
                                        "critic/returns/mean",
                                        "response_length/mean",
                                        "response_length/clip_ratio",
                                        "prompt_length/mean",
                                        "perf/total_num_tokens",
                                        "perf/time_per_step",
                                        "perf/throughput",
                                        "timing_s/gen",
                                        "timing_s/reward",
                                        "timing_s/adv",
                                        "timing_s/update_actor",
                                        "timing_s/update_weights",
                                        "timing_s/step",
                                        "training/global_step",
                                        "training/epoch",
                                        "training/rollout_probs_diff_max"};

// Ranks write the samples of their parts of every mini-batch.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("GRPO runs on 1, 2 and 4 ranks with the same samples", "[runs]") {
  const Scratch scratch;
  std::vector<nlohmann::json> expected;
  std::string samples;
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks << " ranks");
    const fs::path out = scratch.path() / std::to_string(ranks);
    const Result result = run(train_plugin(ranks, out));
    INFO(result.output);
    REQUIRE(result.code == 0);
    const std::vector<nlohmann::json> metrics = read_jsonl(out / "plugin/metrics.jsonl");
    REQUIRE(metrics.size() == 3);
    for (const nlohmann::json& row : metrics) {
      for (const char* name : kMetricNames) {
        INFO(name);
        CHECK((row.contains(name) && row[name].is_number()));
      }
      CHECK(row["training/rollout_probs_diff_max"] == 0.0);
      CHECK(row["actor/grad_norm"] > 0.0);
      CHECK(row["actor/skipped_updates"] == 0.0);
    }
    const std::string own = read_rollouts(out / "plugin", 1, ranks);
    CHECK(std::count(own.begin(), own.end(), '\n') == 16);
    if (ranks == 1) {
      expected = metrics;
      samples = own;
    }
    CHECK(own == samples);
    for (const char* name : {"critic/score/mean", "critic/advantages/max", "actor/pg_loss", "actor/grad_norm",
                             "actor/entropy", "response_length/mean", "perf/total_num_tokens"})
      CHECK(metrics[0][name].get<double>() == Approx(expected[0][name].get<double>()).epsilon(1e-6));
    CHECK(fs::exists(out / "plugin/huggingface/model.safetensors"));
    CHECK(fs::exists(out / "plugin/checkpoints/global_step_3/manifest.json"));
    CHECK(read_file(out / "plugin/checkpoints/latest_checkpointed_iteration.txt") == "3\n");
  }
}

TEST_CASE("ranks that draw no prompt of a mini-batch, and none of the held-out rows, join", "[runs]") {
  const Scratch scratch;
  std::vector<nlohmann::json> expected;
  for (const int ranks : {1, 4}) {
    INFO(ranks << " ranks");
    const fs::path out = scratch.path() / std::to_string(ranks);
    const Result result =
        run(train_plugin(ranks, out,
                         {"actor.ppo_mini_batch_size=2", "actor.use_kl_loss=true", "data.val_max_samples=3",
                          "data.val_files=[\"" + rows("grpo_rows").string() + "\"]"}));
    INFO(result.output);
    REQUIRE(result.code == 0);
    const std::vector<nlohmann::json> metrics = read_jsonl(out / "plugin/metrics.jsonl");
    REQUIRE(metrics.size() == 4);
    if (ranks == 1) expected = metrics;
    CHECK(metrics[0]["val-core/reward/mean@1"].get<double>() ==
          Approx(expected[0]["val-core/reward/mean@1"].get<double>()));
    for (const char* name : {"critic/score/mean", "actor/grad_norm", "actor/entropy", "actor/pg_loss"})
      CHECK(metrics[1][name].get<double>() == Approx(expected[1][name].get<double>()).epsilon(1e-5));
  }
}

TEST_CASE("SFT's losses agree over ranks", "[runs]") {
  const Scratch scratch;
  std::vector<nlohmann::json> expected;
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks << " ranks");
    const fs::path out = scratch.path() / std::to_string(ranks);
    const Result result = run(train(recipe("sft"), ranks, out));
    INFO(result.output);
    REQUIRE(result.code == 0);
    const std::vector<nlohmann::json> metrics = read_jsonl(out / "sft/metrics.jsonl");
    REQUIRE(metrics.size() == 5);
    if (ranks == 1) expected = metrics;
    for (size_t i = 0; i < metrics.size(); ++i)
      CHECK(metrics[i]["train/loss"].get<double>() ==
            Approx(expected[i]["train/loss"].get<double>()).margin(1e-5));
    CHECK(metrics.back()["train/loss"] < metrics.front()["train/loss"]);
  }
}

TEST_CASE("every estimator, loss, KL and log-prob setting runs", "[runs]") {
  const Scratch scratch;
  const std::vector<std::vector<std::string>> settings = {
      {"algorithm.norm_adv_by_std_in_grpo=false", "actor.loss_agg_mode=seq-mean-token-sum-norm"},
      {"actor.loss_agg_mode=seq-mean-token-sum"},
      {"actor.loss_agg_mode=seq-mean-token-mean", "algorithm.advantage_ddof=0"},
      {"actor.old_log_prob=recompute"},
      {"actor.old_log_prob=verify", "actor.ppo_mini_batch_size=2", "actor.ppo_epochs=2"},
      {"actor.use_kl_loss=true", "actor.kl_loss_type=k1"},
      {"actor.use_kl_loss=true", "actor.kl_loss_coef=0", "algorithm.use_kl_in_reward=true",
       "algorithm.kl_ctrl.kl_coef=0"},
      {"actor.use_kl_loss=true", "actor.kl_loss_type=k2"},
      {"actor.use_kl_loss=true", "actor.kl_loss_type=low_var_kl", "actor.entropy_coeff=0.01"},
      {"actor.use_kl_loss=true", "actor.kl_loss_type=abs"},
      {"actor.use_kl_loss=true", "actor.kl_loss_type=k3+"},
      {"algorithm.use_kl_in_reward=true", "algorithm.kl_penalty=k3", "algorithm.kl_ctrl.type=adaptive"},
      {"algorithm.use_kl_in_reward=true", "actor.fsdp_config.sharding=grad_op",
       "actor.fsdp_config.forward_prefetch=true"},
      {"algorithm.skip_zero_advantage_groups=true", "actor.ppo_micro_batch_size_per_gpu=2"},
      {"model.enable_gradient_checkpointing=true", "rollout.temperature=0.7", "actor.old_log_prob=verify"},
      {"rollout.free_cache_engine=false", "rollout.enable_prefix_caching=false",
       "rollout.max_num_batched_tokens=16", "rollout.max_num_seqs=3", "actor.old_log_prob=verify"},
      {"algorithm.adv_estimator=rloo", "actor.policy_loss.loss_mode=gspo"},
      {"algorithm.adv_estimator=opo", "actor.policy_loss.loss_mode=sapo"},
      {"algorithm.adv_estimator=grpo_passk", "actor.policy_loss.loss_mode=gpg"},
      {"algorithm.adv_estimator=gpg", "actor.policy_loss.loss_mode=clip_cov"},
      {"algorithm.adv_estimator=reinforce_plus_plus", "algorithm.gamma=0.99",
       "actor.policy_loss.loss_mode=kl_cov"},
      {"algorithm.adv_estimator=reinforce_plus_plus_baseline", "actor.policy_loss.loss_mode=geo_mean"},
      {"actor.policy_loss.loss_mode=cispo", "actor.clip_ratio_low=10"},
      {"actor.policy_loss.loss_mode=dppo_tv", "actor.clip_ratio_c=20"},
      {"actor.policy_loss.loss_mode=dppo_kl", "actor.clip_ratio_c=20"},
      {"actor.policy_loss.loss_mode=dro"},
  };
  int i = 0;
  for (std::vector<std::string> setting : settings) {
    const std::string shown = setting.front() + " " + setting.back();
    setting.emplace_back("trainer.total_training_steps=2");
    const fs::path out = scratch.path() / std::to_string(i);
    const Result result = run(train_plugin(i++ % 7 == 6 ? 2 : 1, out, setting));
    INFO(shown << "\n" << result.output);
    CHECK(result.code == 0);
    if (result.code != 0) continue;
    const std::vector<nlohmann::json> metrics = read_jsonl(out / "plugin/metrics.jsonl");
    REQUIRE(metrics.size() == 2);
    CHECK(std::isfinite(metrics[1]["actor/pg_loss"].get<double>()));
    CHECK(metrics[1]["training/rollout_probs_diff_max"] == 0.0);
    // After the first update the policy has left its reference, so the KL shows.
    if (shown.find("use_kl_loss") != std::string::npos && shown.find("coef=0") == std::string::npos)
      CHECK(metrics[1]["actor/kl_loss"] != 0.0);
    CHECK(metrics[1].contains("timing_s/ref") ==
          (metrics[1].contains("actor/kl_loss") || metrics[1].contains("actor/reward_kl_penalty")));
    if (shown.find("use_kl_in_reward") != std::string::npos)
      CHECK(metrics[1]["actor/reward_kl_penalty"] != 0.0);
  }
}

TEST_CASE("exact savings change no sample and no metric", "[runs]") {
  const Scratch scratch;
  // Pairs of samples often get equal rewards; later mini-batches and epochs see weights that have moved.
  const std::vector<std::string> task = {"rollout.n=2", "data.train_batch_size=8",
                                         "actor.ppo_mini_batch_size=4", "actor.ppo_epochs=2",
                                         "trainer.total_training_steps=1"};
  const std::vector<std::pair<int, std::vector<std::string>>> runs = {
      {1,
       {"actor.use_prefix_grouper=false", "algorithm.skip_zero_advantage_groups=false",
        "actor.old_log_prob=recompute", "rollout.enable_prefix_caching=false",
        "actor.fsdp_config.forward_prefetch=false"}},
      {1, {"actor.old_log_prob=verify"}},
      {2, {"actor.old_log_prob=verify"}},
      {1, {"actor.ppo_max_token_len_per_gpu=20"}},
      {1, {"actor.use_prefix_grouper=false"}},
      {2, {"algorithm.skip_zero_advantage_groups=false"}},
      {1, {"actor.calculate_entropy=false"}}};
  nlohmann::json expected;
  std::vector<std::string> samples;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> settings = runs[i].second;
    INFO(settings.front() << " on " << runs[i].first << " ranks");
    settings.insert(settings.end(), task.begin(), task.end());
    const fs::path out = scratch.path() / std::to_string(i);
    const Result result = run(train_plugin(runs[i].first, out, settings));
    INFO(result.output);
    REQUIRE(result.code == 0);
    nlohmann::json metrics = read_metrics(out / "plugin/metrics.jsonl").at(0);
    const std::vector<std::string> own = sorted_lines(read_rollouts(out / "plugin", 1, runs[i].first));
    if (i == 0) {
      expected = metrics;
      samples = own;
      CHECK(expected["training/zero_advantage_ratio"] > 0.0);
      CHECK(expected["training/zero_advantage_ratio"] < 1.0);
    }
    CHECK(own == samples);
    if (i + 1 == runs.size()) {
      CHECK_FALSE(metrics.contains("actor/entropy"));
      metrics["actor/entropy"] = expected["actor/entropy"];
    }
    CHECK(metrics.size() == expected.size());
    for (const auto& [name, value] : expected.items()) {
      INFO(name);
      // What tells of the division over ranks differs with their number.
      const bool of_ranks = name.starts_with("global_seqlen/") || name.starts_with("balance/");
      if (value.is_number() && !of_ranks)
        CHECK(metrics[name].get<double>() == Approx(value.get<double>()).epsilon(1e-5).margin(1e-7));
    }
  }
}

TEST_CASE("one thread and two, one page size and another: the same run", "[runs]") {
  const Scratch scratch;
  std::vector<nlohmann::json> expected;
  const std::vector<std::vector<std::string>> settings = {
      {},
      {"trainer.threads_per_rank=2"},
      {"rollout.block_size=64", "rollout.max_num_batched_tokens=20", "rollout.max_num_seqs=9"}};
  fs::path first;
  for (size_t i = 0; i < settings.size(); ++i) {
    const fs::path out = scratch.path() / std::to_string(i);
    const Result result = run(train_plugin(1, out, settings[i]));
    INFO(result.output);
    REQUIRE(result.code == 0);
    const std::vector<nlohmann::json> metrics = read_metrics(out / "plugin/metrics.jsonl");
    if (i == 0) {
      expected = metrics;
      first = out / "plugin/huggingface";
    }
    CHECK(metrics == expected);
    CHECK(read_file(out / "plugin/huggingface/model.safetensors") == read_file(first / "model.safetensors"));
  }
}

TEST_CASE("a built-in scorer, validation before and after, export, score and generate", "[runs]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const Result result =
      run(train(recipe("grpo"), 2, out,
                {"data.val_files=[\"" + rows("grpo_rows").string() + "\"]", "data.val_max_samples=9",
                 "data.val_batch_size=4", "trainer.test_freq=2"}));
  INFO(result.output);
  REQUIRE(result.code == 0);
  CHECK(result.output.find("held-out accuracy") != std::string::npos);
  const std::vector<nlohmann::json> metrics = read_jsonl(out / "grpo/metrics.jsonl");
  REQUIRE(metrics.size() == 4);
  CHECK(metrics[0]["step"] == 0);
  CHECK(metrics[0].contains("val-core/reward/mean@1"));
  CHECK_FALSE(metrics[1].contains("val-core/reward/mean@1"));
  CHECK(metrics[2].contains("val-core/reward/mean@1"));
  CHECK(metrics[3].contains("val-core/reward/mean@1"));

  const fs::path exported = scratch.path() / "exported";
  const Result exporting =
      run({"export", (out / "grpo/checkpoints/global_step_3").string(), exported.string()});
  INFO(exporting.output);
  REQUIRE(exporting.code == 0);
  for (const fs::directory_entry& entry : fs::directory_iterator(out / "grpo/huggingface")) {
    INFO(entry.path());
    CHECK(read_file(entry.path()) == read_file(exported / entry.path().filename()));
  }

  const fs::path texts =
      scratch.write("rows.jsonl", "{\"text\": \"12+3=15\"}\n{\"token_ids\": [1, 9, 10]}\n");
  const Result scoring = run({"score", "--model", exported.string(), "--input", texts.string(), "--output",
                              (scratch.path() / "scores.jsonl").string()});
  INFO(scoring.output);
  REQUIRE(scoring.code == 0);
  const std::vector<nlohmann::json> scores = read_jsonl(scratch.path() / "scores.jsonl");
  REQUIRE(scores.size() == 2);
  CHECK(scores[1]["token_ids"] == nlohmann::json({1, 9, 10}));
  CHECK(scores[1]["logprobs"][0].is_null());
  CHECK(scores[1]["logprobs"][1] < 0.0);

  const Result generating = run({"generate", "--model", exported.string(), "--chat", "12+3=", "--json",
                                 "--max-new-tokens", "5", "--temperature", "1", "--seed", "3", "-n", "2"});
  INFO(generating.output);
  REQUIRE(generating.code == 0);
  const fs::path lines = scratch.write("generated.jsonl", generating.output);
  const std::vector<nlohmann::json> generated = read_jsonl(lines);
  REQUIRE(generated.size() == 2);
  CHECK(generated[0]["token_ids"].size() == generated[0]["logprobs"].size());
  CHECK(generated[0]["token_ids"] != generated[1]["token_ids"]);
}
