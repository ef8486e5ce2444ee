// The program as a user meets it: messages, exit codes, and the frozen list of commands and flags.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <regex>
#include <set>

#include "core/base/file.hpp"
#include "support/run_verlc.hpp"

namespace {

namespace fs = std::filesystem;

using verlc::test::Outcome;

bool contains(const Outcome& outcome, const std::string& text) {
  return outcome.output.find(text) != std::string::npos;
}

// A recipe beside a golden model.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("verlc_cli_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    fs::copy(std::string(VERLC_SOURCE_DIR) + "/tests/data/golden/qwen3", path_ / "model",
             fs::copy_options::recursive);
    write("model/tokenizer.json", "{}");
    write("train.jsonl", "{}\n");
    write("good.toml",
          "[model]\npath = \"model\"\n[data]\ntrain_files = \"train.jsonl\"\ntrain_batch_size = 8\n"
          "max_prompt_length = 16\nmax_response_length = 16\n");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    verlc::write_file(path_ / name, text);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a good recipe passes and its time is told") {
  const Folder folder;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = verlc::test::run_verlc("check " + folder.file("good.toml") + " --ranks 2");
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  std::cout << "verlc check with process start: " << elapsed.count() << " ms\n";
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(contains(outcome, "good.toml: ok (grpo, 2 ranks"));
}

TEST_CASE("a bad recipe exits with 2 and tells every problem") {
  const Folder folder;
  folder.write("bad.toml", "base = \"good.toml\"\n[actor]\nlr = 1\n[rollout]\nn = 1\ntop_p = 0.5\n");
  const Outcome outcome = verlc::test::run_verlc("check " + folder.file("bad.toml") + " --set seed=x");
  INFO(outcome.output);
  CHECK(outcome.code == 2);
  CHECK(contains(outcome, "4 problems"));
  CHECK(contains(outcome, "bad.toml:3 actor.lr: unknown key"));
  CHECK(contains(outcome, "did you mean actor.optim.lr?"));
  CHECK(contains(outcome, "bad.toml:5 rollout.n"));
  CHECK(contains(outcome, "bad.toml:6 rollout.top_p"));
  CHECK(contains(outcome, "--set seed: must be an integer"));
  const Outcome missing = verlc::test::run_verlc("check " + folder.file("none.toml"));
  CHECK(missing.code == 2);
  CHECK(contains(missing, "does not exist"));
  const Outcome syntax = verlc::test::run_verlc("check " + folder.file("train.jsonl"));
  CHECK(syntax.code == 2);
  CHECK(contains(syntax, "train.jsonl:1:"));
}

TEST_CASE("a shown recipe shows the same again") {
  const Folder folder;
  const Outcome first =
      verlc::test::run_verlc("recipe show " + folder.file("good.toml") + " --set actor.optim.lr=1e-5");
  REQUIRE(first.code == 0);
  folder.write("shown.toml", first.output);
  CHECK(verlc::test::run_verlc("recipe show " + folder.file("shown.toml")).output == first.output);
  CHECK(verlc::test::run_verlc("check " + folder.file("shown.toml")).code == 0);
  CHECK(contains(verlc::test::run_verlc("recipe schema actor.optim"), "peak learning rate"));
  CHECK(verlc::test::run_verlc("recipe schema --json").output.starts_with("["));
}

TEST_CASE("unknown words name the nearest") {
  for (const auto& [arguments, hint] : std::vector<std::pair<std::string, std::string>>{
           {"chekc x", "did you mean check"},
           {"recipe sho x", "did you mean show"},
           {"check x --rank 2", "did you mean --ranks"},
           {"check", "verlc check --help"},
           {"", "a command is missing"},
           {"--nonsense", "--version"},
           {"recipe schema actor.optm", "did you mean actor.optim?"}}) {
    const Outcome outcome = verlc::test::run_verlc(arguments);
    INFO(arguments << "\n" << outcome.output);
    CHECK(outcome.code == 2);
    CHECK(outcome.output.starts_with("error: "));
    CHECK(contains(outcome, hint));
  }
  CHECK(verlc::test::run_verlc("--version").code == 0);
  CHECK(verlc::test::run_verlc("--help").code == 0);
}

namespace {

// "<command>: --flag --flag" lines of a command and its subcommands, from the help pages.
void describe(const std::string& command, std::set<std::string>& lines) {
  const std::string help = verlc::test::run_verlc(command + " --help").output;
  std::string line = command + ":";
  std::set<std::string> flags;
  const std::regex flag("(?:^|\n) +(?:-\\w,)?(--[a-z0-9-]+)");
  for (auto it = std::sregex_iterator(help.begin(), help.end(), flag); it != std::sregex_iterator(); ++it)
    flags.insert((*it)[1]);
  for (const std::string& name : flags) line += " " + name;
  lines.insert(line);
  const size_t begin = help.find("Subcommands:");
  if (begin == std::string::npos) return;
  const std::regex word("\n  ([a-z]+)");
  const std::string rest = help.substr(begin);
  for (auto it = std::sregex_iterator(rest.begin(), rest.end(), word); it != std::sregex_iterator(); ++it)
    describe(command.empty() ? std::string((*it)[1]) : command + " " + std::string((*it)[1]), lines);
}

}  // namespace

// Renaming or removing one breaks scripts of users; a new one is added to commands.txt by hand.
TEST_CASE("commands and flags are the frozen ones") {
  std::set<std::string> found;
  describe("", found);
  std::set<std::string> frozen;
  const std::string text = verlc::read_file(std::string(VERLC_SOURCE_DIR) + "/tests/e2e/cli/commands.txt");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    frozen.insert(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  for (const std::string& line : found)
    CHECK((frozen.contains(line) ? "" : "not frozen: " + line) == std::string());
  for (const std::string& line : frozen)
    CHECK((found.contains(line) ? "" : "gone: " + line) == std::string());
}
