// What goes wrong is told once, by name, with the right exit code, and loses nothing.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>

#include "core/base/file.hpp"
#include "e2e/train/job.hpp"

using namespace verlc;
using namespace verlc::e2e;

namespace {

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Exit code 2 and one message that has every word.
void refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
  const Result result = run(arguments);
  INFO(result.output);
  CHECK(result.code == 2);
  CHECK(count(result.output, "error: ") == 1);
  for (const std::string& word : words) CHECK_THAT(result.output, Catch::Contains(word));
}

// A model folder with weights, as a run leaves it.
class TrainedModel {
 public:
  TrainedModel() {
    const Result result = run(train(recipe("grpo"), 1, scratch_.path(), {"trainer.total_training_steps=1"}));
    INFO(result.output);
    REQUIRE(result.code == 0);
  }
  [[nodiscard]] fs::path folder() const { return scratch_.path() / "grpo/huggingface"; }
  /// A copy with one file changed.
  fs::path copy(const std::string& name, const std::string& file,
                const std::function<void(std::string&)>& change) const {
    const fs::path to = scratch_.path() / name;
    fs::copy(folder(), to);
    std::string bytes = read_file(to / file);
    change(bytes);
    write_file(to / file, bytes);
    return to;
  }
  [[nodiscard]] std::vector<std::string> train_from(const fs::path& model, int ranks = 1) const {
    return train(recipe("grpo"), ranks, scratch_.path() / "never",
                 {"model.init=checkpoint", "model.path=" + model.string()});
  }
  [[nodiscard]] bool nothing_written() const { return !fs::exists(scratch_.path() / "never"); }

 private:
  Scratch scratch_;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) all[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
  return all;
}

const std::vector<std::string> kEndless = {"trainer.total_training_steps=100000",
                                           "trainer.rollout_data=false", "trainer.logger=[\"file\"]"};

}  // namespace

TEST_CASE("a killed rank ends the job within 10 s, with its reason", "[faults]") {
  const Scratch scratch;
  Job job(train_plugin(2, scratch.path(), kEndless));
  REQUIRE(
      eventually(60, [&] { return !job.runs() || last_step(scratch.path() / "plugin/metrics.jsonl") >= 1; }));
  const std::map<int, pid_t> ranks = job.ranks();
  REQUIRE(ranks.size() == 2);
  ::kill(ranks.at(1), SIGKILL);
  const Result result = job.wait(60);
  INFO(result.output);
  CHECK(result.code == 1);
  CHECK(result.seconds < 10);
  CHECK_THAT(result.output, Catch::Contains("rank 1 was killed by signal 9"));
  CHECK(eventually(10, [&] { return ::kill(ranks.at(0), 0) != 0; }));
}

TEST_CASE("a rank that hangs is named by the others", "[faults]") {
  const Scratch scratch;
  std::vector<std::string> settings = kEndless;
  settings.emplace_back("trainer.comm_timeout_s=3");
  Job job(train_plugin(2, scratch.path(), settings));
  REQUIRE(
      eventually(60, [&] { return !job.runs() || last_step(scratch.path() / "plugin/metrics.jsonl") >= 1; }));
  const std::map<int, pid_t> ranks = job.ranks();
  REQUIRE(ranks.size() == 2);
  ::kill(ranks.at(1), SIGSTOP);
  const Result result = job.wait(60);
  INFO(result.output);
  CHECK(result.code == 1);
  CHECK_THAT(result.output, Catch::Contains("rank 0: "));
  CHECK_THAT(result.output, Catch::Contains("nothing came from ranks 1"));
  CHECK(eventually(10, [&] { return ::kill(ranks.at(1), 0) != 0; }));
}

TEST_CASE("a fault of one rank ends the job with its reason", "[faults]") {
  const Scratch scratch;
  // Row 16 alone has a reference that the plugin can't read; one of the two ranks draws it.
  std::string rows = read_file(e2e::rows("grpo_rows"));
  const size_t end = rows.find('\n');
  rows.resize(end + 1);
  std::string all;
  for (int i = 0; i < 15; ++i) all += rows;
  std::string bad = rows;
  const size_t at = bad.find("\"ground_truth\": ") + 16;
  bad.replace(at, bad.find('}', at) - at, "\"\"");
  const fs::path file = scratch.write("rows.jsonl", all + bad);
  std::vector<std::string> settings = kEndless;
  settings.push_back("data.train_files=[\"" + file.string() + "\"]");
  Job job(train_plugin(2, scratch.path() / "out", settings));
  const Result result = job.wait(60);
  INFO(result.output);
  CHECK(result.code == 1);
  CHECK_THAT(result.output, Catch::Contains("rows.jsonl:16"));
  CHECK(count(result.output, "rows.jsonl:16") == 1);
}

TEST_CASE("broken models are refused by name", "[faults]") {
  const TrainedModel model;
  const auto config = [&](const std::string& name, const std::string& from, const std::string& to) {
    return model.train_from(
        model.copy(name, "config.json", [&](std::string& text) { replace(text, from, to); }));
  };
  const std::string weights = "model.safetensors";
  refused(model.train_from("/nonexistent/model"), {"model.path", "/nonexistent/model"});
  for (const int ranks : {1, 2}) {
    INFO(ranks << " ranks");
    refused(model.train_from(model.copy("truncated" + std::to_string(ranks), weights,
                                        [](std::string& bytes) { bytes.resize(bytes.size() - 5); }),
                             ranks),
            {weights});
  }
  refused(model.train_from(model.copy("short", weights, [](std::string& bytes) { bytes.resize(5); })),
          {weights});
  refused(model.train_from(model.copy("huge", weights, [](std::string& bytes) { bytes[6] = '\x7f'; })),
          {weights});
  refused(model.train_from(
              model.copy("lying", weights, [](std::string& bytes) { replace(bytes, "[192]", "[193]"); })),
          {weights, "193"});
  refused(model.train_from(model.copy(
              "renamed", weights,
              [](std::string& bytes) { replace(bytes, "\"model.norm.weight\"", "\"model.norm.weighs\""); })),
          {"model.norm.weight", "model.norm.weighs"});
  refused(config("missing", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4"),
          {"model.layers.3.mlp.down_proj.weight", "model.layers.3.self_attn.q_proj.weight"});
  refused(config("extra", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2"),
          {"model.layers.2.mlp.down_proj.weight"});
  refused(config("misshaped", "\"intermediate_size\": 512", "\"intermediate_size\": 256"),
          {"model.layers.0.mlp.down_proj.weight", "512", "256"});
  refused(config("unknown", "LlamaForCausalLM", "GizmoForCausalLM"),
          {"GizmoForCausalLM", "LlamaForCausalLM"});
  refused(model.train_from(model.copy(
              "words", "tokenizer.json",
              [](std::string& text) { replace(text, "\"type\": \"BPE\"", "\"type\": \"WordPiece\""); })),
          {"WordPiece", "BPE"});
  CHECK(model.nothing_written());
}

TEST_CASE("broken rows, labels and plugins are refused by place", "[faults]") {
  const Scratch scratch;
  const std::string good =
      R"({"data_source": "x", "prompt": [{"role": "user", "content": "1+2="}], "reward_model": {"ground_truth": "3"}})";
  const auto with_rows = [&](const std::string& text, std::vector<std::string> settings = {}) {
    const fs::path file = scratch.write("rows.jsonl", text);
    settings.push_back("data.train_files=[\"" + file.string() + "\"]");
    return train(recipe("grpo"), 1, scratch.path() / "out", settings);
  };
  std::string rows;
  for (int i = 0; i < 4; ++i) rows += good + "\n";
  refused(with_rows(rows + "{\"prompt\": \n"), {"rows.jsonl:5"});
  refused(with_rows(rows + "{\"data_source\": \"x\"}\n"), {"rows.jsonl:5", "prompt"});
  refused(with_rows(
              rows +
              R"({"data_source": "x", "prompt": [{"role": "user"}], "reward_model": {"ground_truth": "3"}})"),
          {"rows.jsonl:5", "content"});
  refused(
      with_rows(
          rows +
          R"({"data_source": "x", "prompt": [{"role": "user", "content": "1"}], "reward_model": {"ground_truth": {"a": 1}}})"),
      {"rows.jsonl:5", "ground_truth"});
  refused(with_rows(rows, {"reward.name=gsm8k", "data.max_prompt_length=3"}),
          {"rows.jsonl:1", "data.max_prompt_length"});
  std::string words = rows;
  replace(words, "\"ground_truth\": \"3\"", "\"ground_truth\": \"three\"");
  refused(with_rows(words, {"reward.name=gsm8k"}), {"rows.jsonl:1", "three"});
  refused(with_rows(""), {"rows.jsonl"});
  const fs::path text = scratch.write("not_one.so", "not a shared object");
  refused(train(recipe("plugin"), 1, scratch.path() / "out", {"reward.plugin=" + text.string()}),
          {"not_one.so"});
  // A shared object, but no plugin of ours.
  const fs::path other = scratch.path() / "other.so";
  fs::copy(fs::path(VERLC_BINARY_DIR) / "lib/verlc/comm/openmpi.so", other);
  refused(train(recipe("plugin"), 1, scratch.path() / "out", {"reward.plugin=" + other.string()}),
          {"other.so"});
  // The wrong kind of plugin.
  refused(train(recipe("plugin"), 1, scratch.path() / "out",
                {"reward.plugin=" + std::string(VERLC_BINARY_DIR) + "/lib/verlc/engines/rollout.so"}),
          {"rollout.so", "verlc.reward/1"});
  CHECK_FALSE(fs::exists(scratch.path() / "out"));
}

namespace {

// Two steps with a checkpoint, then a save that must fail; the checkpoint stays as it was.
void fails_to_save(const fs::path& out, JobOptions options) {
  REQUIRE(run(train_plugin(1, out, {"trainer.total_training_steps=2", "trainer.save_freq=2"})).code == 0);
  const fs::path checkpoints = out / "plugin/checkpoints";
  const auto before = contents(checkpoints);
  REQUIRE(before.contains("global_step_2/manifest.json"));
  const Result result =
      run(train_plugin(1, out, {"trainer.total_training_steps=4", "trainer.save_freq=2"}), options);
  INFO(result.output);
  CHECK(result.code == 1);
  CHECK(count(result.output, "error: ") == 1);
  CHECK_THAT(result.output, Catch::Contains("global_step_4"));
  auto after = contents(checkpoints);
  std::erase_if(after, [](const auto& entry) { return entry.first.starts_with("global_step_4.tmp"); });
  CHECK(after == before);
}

}  // namespace

TEST_CASE("a write that is refused while saving leaves the earlier checkpoint", "[faults]") {
  const Scratch scratch;
  fails_to_save(scratch.path() / "out", {.file_size_limit = 1 << 20});
  // With room again, the run goes on.
  const Result result =
      run(train_plugin(1, scratch.path() / "out", {"trainer.total_training_steps=4", "trainer.save_freq=2"}));
  INFO(result.output);
  CHECK(result.code == 0);
}

TEST_CASE("a full disk while saving leaves the earlier checkpoint", "[faults]") {
  const Scratch scratch;
  const fs::path disk = scratch.path() / "disk";
  fs::create_directories(disk);
  // A checkpoint is 16 MB, the exported model 5 MB.
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=30m") != 0) {
    std::cout << "skipped: a small file system can't be mounted here: " << std::strerror(errno) << "\n";
    return;
  }
  fails_to_save(disk, {});
  CHECK(::umount(disk.c_str()) == 0);
}
