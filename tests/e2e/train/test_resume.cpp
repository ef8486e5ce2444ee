// A run that was cut off goes on as if it had not been.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <random>
#include <thread>

#include "core/base/file.hpp"
#include "e2e/train/job.hpp"

using namespace verlc;
using namespace verlc::e2e;

namespace {

// Longer than the test needs, so that a signal meets a running job.
const std::vector<std::string> kLong = {
    "trainer.total_training_steps=8", "trainer.save_freq=2", "actor.ppo_epochs=2",
    "actor.ppo_mini_batch_size=2",    "actor.shuffle=true",  "rollout.n=8"};

// A checkpoint's state without the recipe's hash, which knows the output folder.
nlohmann::json read_state(const fs::path& checkpoint) {
  nlohmann::json state = nlohmann::json::parse(read_file(checkpoint / "trainer_state.json"));
  state.erase("recipe");
  return state;
}

void same_run(const fs::path& run, const fs::path& reference) {
  CHECK(read_metrics(run / "metrics.jsonl") == read_metrics(reference / "metrics.jsonl"));
  CHECK(read_file(run / "huggingface/model.safetensors") ==
        read_file(reference / "huggingface/model.safetensors"));
  const fs::path one = run / "checkpoints/global_step_8", two = reference / "checkpoints/global_step_8";
  CHECK(read_state(one) == read_state(two));
  for (const fs::directory_entry& entry : fs::directory_iterator(one / "actor"))
    CHECK(read_file(entry.path()) == read_file(two / "actor" / entry.path().filename()));
}

}  // namespace

TEST_CASE("kill -9 of a rank at a random moment, then resume: the same run", "[resume]") {
  const unsigned seed = std::random_device{}();
  std::cout << "moments drawn from seed " << seed << "\n";
  std::mt19937 random(seed);
  INFO("seed " << seed);
  for (const int ranks : {2, 1}) {
    INFO(ranks << " ranks");
    const Scratch scratch;
    const fs::path whole = scratch.path() / "whole", cut = scratch.path() / "cut";
    const Result reference = run(train_plugin(ranks, whole, kLong));
    INFO(reference.output);
    REQUIRE(reference.code == 0);
    for (int attempt = 0; attempt < 2; ++attempt) {
      Job job(train_plugin(ranks, cut, kLong));
      const int step = 3 + static_cast<int>(random() % 3);
      REQUIRE(eventually(60, [&] { return !job.runs() || last_step(cut / "plugin/metrics.jsonl") >= step; }));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
      const std::map<int, pid_t> processes = job.ranks();
      const int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const pid_t target = ranks == 1 ? job.pid() : processes.contains(victim) ? processes.at(victim) : 0;
      if (target > 0 && job.runs()) ::kill(target, SIGKILL);
      const Result killed = job.wait(60);
      INFO(killed.output);
      CHECK(killed.code != -1);
      if (ranks > 1 && killed.code != 0) {
        CHECK(killed.code == 1);
        CHECK(killed.output.find("killed by signal 9") != std::string::npos);
      }
      const Result resumed = run(train_plugin(ranks, cut, kLong));
      INFO(resumed.output);
      REQUIRE(resumed.code == 0);
      same_run(cut / "plugin", whole / "plugin");
      fs::remove_all(cut);
    }
  }
}

TEST_CASE("a killed SFT run resumes to the same loss and weights", "[resume]") {
  const Scratch scratch;
  const std::vector<std::string> settings = {"trainer.save_freq=2", "trainer.total_training_steps=8"};
  const fs::path whole = scratch.path() / "whole", cut = scratch.path() / "cut";
  REQUIRE(run(train(recipe("sft"), 1, whole, settings)).code == 0);
  Job job(train(recipe("sft"), 1, cut, settings));
  REQUIRE(eventually(60, [&] { return !job.runs() || last_step(cut / "sft/metrics.jsonl") >= 3; }));
  if (job.runs()) ::kill(job.pid(), SIGKILL);
  job.wait();
  const Result resumed = run(train(recipe("sft"), 1, cut, settings));
  INFO(resumed.output);
  REQUIRE(resumed.code == 0);
  same_run(cut / "sft", whole / "sft");
}

TEST_CASE("SIGINT ends with a checkpoint and 130, and the run goes on from it", "[resume]") {
  struct Variant {
    int ranks, delay_ms;  // after a step was recorded: the next one generates, then it updates
  };
  for (const auto& [ranks, delay_ms] : {Variant{2, 0}, Variant{1, 0}, Variant{2, 60}, Variant{1, 60}}) {
    INFO(ranks << " ranks, " << delay_ms << " ms into a step");
    const Scratch scratch;
    const fs::path whole = scratch.path() / "whole", cut = scratch.path() / "cut";
    std::vector<std::string> settings = kLong;
    settings[1] = "trainer.save_freq=-1";
    settings[2] = "actor.ppo_epochs=12";  // most of a step is the update, so that the signal meets it there
    REQUIRE(run(train_plugin(ranks, whole, settings)).code == 0);
    Job job(train_plugin(ranks, cut, settings));
    REQUIRE(eventually(60, [&] { return !job.runs() || last_step(cut / "plugin/metrics.jsonl") >= 2; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    ::kill(job.pid(), SIGINT);
    const Result stopped = job.wait(60);
    INFO(stopped.output);
    CHECK(stopped.code == 130);
    const fs::path checkpoints = cut / "plugin/checkpoints";
    REQUIRE(fs::exists(checkpoints / "latest_checkpointed_iteration.txt"));
    const std::string latest = read_file(checkpoints / "latest_checkpointed_iteration.txt");
    CHECK(std::stoi(latest) >= 2);
    CHECK(std::stoi(latest) == last_step(cut / "plugin/metrics.jsonl"));
    CHECK(fs::exists(checkpoints / ("global_step_" + std::to_string(std::stoi(latest))) / "manifest.json"));
    const Result resumed = run(train_plugin(ranks, cut, settings));
    INFO(resumed.output);
    REQUIRE(resumed.code == 0);
    same_run(cut / "plugin", whole / "plugin");
  }
}

TEST_CASE("a signal before the first step is obeyed", "[resume]") {
  const Scratch scratch;
  Job job(train_plugin(2, scratch.path() / "out", kLong));
  REQUIRE(
      eventually(60, [&] { return !job.runs() || fs::exists(scratch.path() / "out/plugin/recipe.toml"); }));
  ::kill(job.pid(), SIGINT);
  const Result stopped = job.wait(60);
  INFO(stopped.output);
  CHECK(stopped.code == 130);
  CHECK(stopped.output.find("checkpoint of step 0 is written") == std::string::npos);
  const Result resumed = run(train_plugin(2, scratch.path() / "out", kLong));
  INFO(resumed.output);
  CHECK(resumed.code == 0);
}

TEST_CASE("B15: a checkpoint at the end of an epoch goes on with the next", "[resume]") {
  const Scratch scratch;
  const fs::path whole = scratch.path() / "whole", cut = scratch.path() / "cut";
  // 16 rows in batches of 4: an epoch is 4 steps.
  const std::vector<std::string> two = {"trainer.total_epochs=2", "trainer.total_training_steps=8",
                                        "trainer.save_freq=2"};
  const Result reference = run(train_plugin(1, whole, two));
  INFO(reference.output);
  REQUIRE(reference.code == 0);
  const std::vector<nlohmann::json> metrics = read_metrics(whole / "plugin/metrics.jsonl");
  REQUIRE(metrics.size() == 8);
  std::string first_epoch, second_epoch;
  for (int step = 1; step <= 8; ++step)
    (step <= 4 ? first_epoch : second_epoch) += read_rollouts(whole / "plugin", step, 1);
  for (const int from : {4, 6}) {
    INFO("from step " << from);
    fs::remove_all(cut);
    fs::create_directories(cut);
    fs::copy(whole / "plugin", cut / "plugin", fs::copy_options::recursive);
    for (int step = from + 1; step <= 8; ++step)
      fs::remove_all(cut / "plugin/checkpoints" / ("global_step_" + std::to_string(step)));
    fs::remove_all(cut / "plugin/huggingface");
    fs::remove_all(cut / "plugin/rollouts");
    const Result resumed = run(train_plugin(1, cut, two));
    INFO(resumed.output);
    REQUIRE(resumed.code == 0);
    same_run(cut / "plugin", whole / "plugin");
    for (int step = from + 1; step <= 8; ++step)
      CHECK(read_rollouts(cut / "plugin", step, 1) == read_rollouts(whole / "plugin", step, 1));
  }
  const Result again = run(train_plugin(1, whole, two));
  INFO(again.output);
  CHECK(again.code == 0);
  CHECK(again.output.find("already complete") != std::string::npos);
  CHECK(read_metrics(whole / "plugin/metrics.jsonl") == metrics);
}

TEST_CASE("a damaged newest checkpoint is left out", "[resume]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const std::vector<std::string> settings = {"trainer.total_training_steps=4", "trainer.save_freq=2"};
  REQUIRE(run(train_plugin(1, out, settings)).code == 0);
  const std::string weights = read_file(out / "plugin/huggingface/model.safetensors");
  const std::vector<nlohmann::json> metrics = read_metrics(out / "plugin/metrics.jsonl");
  const fs::path file = out / "plugin/checkpoints/global_step_4/actor/model_world_size_1_rank_0.safetensors";
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(file, bytes);
  const Result resumed = run(train_plugin(1, out, settings));
  INFO(resumed.output);
  CHECK(resumed.code == 0);
  CHECK(resumed.output.find("global_step_4") != std::string::npos);
  CHECK(resumed.output.find("was altered") != std::string::npos);
  CHECK(read_file(out / "plugin/huggingface/model.safetensors") == weights);
  CHECK(read_metrics(out / "plugin/metrics.jsonl") == metrics);
}

TEST_CASE("a checkpoint of two ranks goes on with one and with four", "[resume]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  REQUIRE(run(train_plugin(2, out, {"trainer.total_training_steps=4", "trainer.save_freq=2"})).code == 0);
  const std::vector<nlohmann::json> expected = read_metrics(out / "plugin/metrics.jsonl");
  for (const int ranks : {1, 4}) {
    const fs::path other = scratch.path() / std::to_string(ranks);
    fs::create_directories(other);
    fs::copy(out / "plugin", other / "plugin", fs::copy_options::recursive);
    fs::remove_all(other / "plugin/checkpoints/global_step_4");
    const Result resumed =
        run(train_plugin(ranks, other, {"trainer.total_training_steps=4", "trainer.save_freq=2"}));
    INFO(resumed.output);
    REQUIRE(resumed.code == 0);
    const std::vector<nlohmann::json> metrics = read_metrics(other / "plugin/metrics.jsonl");
    REQUIRE(metrics.size() == 4);
    CHECK(metrics[1] == expected[1]);
    CHECK(metrics[2]["critic/score/mean"] == expected[2]["critic/score/mean"]);
    CHECK(metrics[2]["actor/grad_norm"].get<double>() ==
          Approx(expected[2]["actor/grad_norm"].get<double>()).epsilon(1e-4));
  }
}
