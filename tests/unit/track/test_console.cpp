#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "track/console.hpp"
#include "track/curve.hpp"

using namespace verlc;

namespace {

// What `body` prints.
template <typename Body>
std::string printed(ConsoleStyle style, const Body& body) {
  std::FILE* file = std::tmpfile();
  Console console(file, style, 100);
  body(console);
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

void two_steps(Console& console) {
  console.step(1, {{"critic/score/mean", 0.25}}, 2.0);
  console.step(2,
               {{"critic/score/mean", 0.5},
                {"training/rollout_probs_diff_max", 0.0},
                {"response_length/mean", 12.25},
                {"perf/throughput", 1234.4}},
               2.0);
}

}  // namespace

TEST_CASE("plain console: one whole line per step, absent metrics left out") {
  REQUIRE(printed({}, two_steps) ==
          "step   1/100  reward 0.2500  left 3m18s\n"
          "step   2/100  reward 0.5000 (+0.2500)  gap 0.0e+00  length 12.2  1234 tok/s  left 3m16s\n");
}

TEST_CASE("a terminal gets a bar and colour, plain output no escape") {
  const std::string colored = printed({.color = true}, two_steps);
  REQUIRE_THAT(colored, Catch::Contains("\x1b[32m") && Catch::Contains("----------------"));
  const std::string plain = printed({.unicode = true}, [](Console& console) {
    two_steps(console);
    console.curve();
    console.before_after("held-out accuracy", 0.412, 0.934);
  });
  REQUIRE(plain.find('\x1b') == std::string::npos);
  REQUIRE_THAT(plain, Catch::Contains("reward by step") && Catch::Contains("█") &&
                          Catch::Contains("held-out accuracy: 0.412 before, 0.934 after\n"));
}

TEST_CASE("a resumed run compares with and draws what was recorded before") {
  std::FILE* file = std::tmpfile();
  Console console(file, {}, 3, {0.0, 1.0});
  console.step(3, {{"critic/score/mean", 0.5}}, 1.0);
  console.curve();
  std::rewind(file);
  std::string text(1 << 12, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  REQUIRE_THAT(text, Catch::Contains("reward 0.5000 (-0.5000)") && Catch::Contains("1 3\n"));
}

TEST_CASE("SFT shows the loss") {
  const std::string text = printed({}, [](Console& console) { console.step(1, {{"train/loss", 1.5}}, 1.0); });
  REQUIRE(text == "step   1/100  loss 1.5000  left 1m39s\n");
}

TEST_CASE("a curve is as high and wide as asked and shows its range") {
  const std::vector<double> values = {0.0, 1.0, 2.0, 3.0, 4.0};
  REQUIRE(draw_curve("t", values, {.width = 5, .height = 2, .unicode = false}) ==
          "t\n"
          "         4 |  ..#\n"
          "         0 |.####\n"
          "            1   5\n");
  std::vector<double> many(1000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = std::sin(static_cast<double>(i) / 100.0);
  std::istringstream lines(draw_curve("t", many, {.width = 40, .height = 6, .unicode = false}));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) REQUIRE(line.size() <= 12 + 40);
  REQUIRE(count == 8);
}

TEST_CASE("a curve survives gaps, constants and emptiness") {
  REQUIRE(draw_curve("t", {}, {}).empty());
  REQUIRE(draw_curve("t", std::vector<double>{NAN, INFINITY}, {}).empty());
  REQUIRE_FALSE(draw_curve("t", std::vector<double>{1.0, 1.0}, {}).empty());
  REQUIRE(draw_curve("t", std::vector<double>{0.0, NAN, 1.0}, {.width = 3, .height = 1, .unicode = false}) ==
          "t\n"
          "         1 |. #\n"
          "            1 3\n");
}

TEST_CASE("durations are short") {
  REQUIRE(short_duration(48.4) == "48s");
  REQUIRE(short_duration(723) == "12m03s");
  REQUIRE(short_duration(11220) == "3h07m");
  REQUIRE(short_duration(187200) == "2d04h");
  REQUIRE(short_duration(NAN) == "?");
}
