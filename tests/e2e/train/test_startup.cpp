// train -v: where the time goes until the first result.
#include <catch2/catch.hpp>
#include <sstream>

#include "e2e/train/job.hpp"

using namespace verlc::e2e;

namespace {

// The table's lines without "start-up:".
std::vector<std::string> startup_lines(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream stream(output);
  const std::string mark = "start-up:";
  for (std::string line; std::getline(stream, line);)
    if (const size_t at = line.find(mark); at != std::string::npos)
      lines.push_back(line.substr(at + mark.size()));
  return lines;
}

}  // namespace

TEST_CASE("-v tells once where the start's time went, from the command on", "[startup]") {
  const Scratch scratch;
  for (const auto& [name, first] :
       {std::pair<std::string, std::string>{"sft", "first micro-batch"}, {"grpo", "first response"}}) {
    for (const int ranks : {1, 2}) {
      std::vector<std::string> arguments =
          train(recipe(name), ranks, scratch.path() / (name + std::to_string(ranks)));
      arguments.emplace_back("-v");
      const Result result = run(arguments);
      INFO(result.output);
      REQUIRE(result.code == 0);
      const std::vector<std::string> lines = startup_lines(result.output);
      REQUIRE(lines.size() > 4);
      CHECK(lines[1].find(ranks > 1 ? "verlc: recipe" : "rank: recipe") != std::string::npos);
      CHECK(lines.back().find(first) != std::string::npos);
      double before = 0;
      for (size_t i = 1; i < lines.size(); ++i) {
        const double at = std::stod(lines[i]);
        CHECK(at >= before);
        before = at;
      }
      CHECK(before > 0);
      CHECK(result.output.find("load actor") != std::string::npos);
    }
  }
  const Result quiet = run(train(recipe("sft"), 1, scratch.path() / "quiet"));
  CHECK(startup_lines(quiet.output).empty());
}
