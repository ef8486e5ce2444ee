#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "rewards/math_text.hpp"
#include "scoring.hpp"

using namespace verlc;
using test::score_of;

namespace {

double boxed(const std::string& answer, const std::string& label) {
  return score_of("math", "so \\boxed{" + answer + "}", label);
}

}  // namespace

TEST_CASE("B2 thousands separators") {
  REQUIRE(boxed("1,000", "1000") == 1.0);
  REQUIRE(score_of("math_dapo", "Answer: 1,000", "1000") == 1.0);
  REQUIRE(boxed("9{,}500", "9500") == 1.0);
  REQUIRE(boxed("$9{,}500", "9500") == 1.0);
  REQUIRE(boxed("\\$9{,}500", "9500") == 1.0);
  REQUIRE(boxed("8,000", "8000") == 1.0);
  REQUIRE(boxed("8,000", "000") == 0.0);
  REQUIRE(boxed("10,\\!000", "10000") == 1.0);
  REQUIRE(boxed("1,234,567.50", "1234567.5") == 1.0);
  // Lists and tuples stay what they are, and 1,00 is not 100.
  REQUIRE(boxed("(1,2)", "12") == 0.0);
  REQUIRE(boxed("(1, 2)", "(1,2)") == 1.0);
  REQUIRE(normalise_math("[8,152,260]") == "[8,152,260]");
  REQUIRE(boxed("[8,152,260]", "8152260") == 0.0);
  REQUIRE(normalise_math("\\left(1,000\\right)") == "(1,000)");
  REQUIRE(normalise_math("\\{1,000\\}") == "\\{1,000\\}");
  REQUIRE(boxed("1,00", "100") == 0.0);
  REQUIRE(boxed("1, 200", "1200") == 0.0);
}

TEST_CASE("B4 the last balanced box") {
  REQUIRE(boxed("\\frac{1}{2}", "\\frac{1}{3}") == 0.0);
  REQUIRE(boxed("\\frac{1}{2}", "\\frac{1}{2}") == 1.0);
  REQUIRE(last_box("\\boxed{3} and \\boxed{4}") == "4");
  REQUIRE(last_box("\\fbox{42}") == "42");
  REQUIRE_FALSE(last_box("\\boxed{42").has_value());
  REQUIRE(last_box("\\boxed{3} ... \\boxed{42") == "3");
  REQUIRE(last_box("\\boxed{\\{1,2\\}}") == "\\{1,2\\}");
  REQUIRE_FALSE(last_box("\\boxed{}").has_value());
  REQUIRE_FALSE(last_box("\\boxed{  }").has_value());
  REQUIRE(last_box("\\boxed{a \\boxed{b}}") == "b");
  REQUIRE(last_box("} { \\boxed {x}") == "x");
  REQUIRE_FALSE(last_box("\\boxedly{x} \\boxed y {z}").has_value());
  REQUIRE_FALSE(last_box("\\boxed\\{1\\}").has_value());
  REQUIRE_FALSE(last_box("\\").has_value());
}

TEST_CASE("B4 an empty label is refused, so an empty box is never right") {
  const auto scorer = test::make_scorer("math");
  REQUIRE_THROWS_AS(validate_label(*scorer, "", "rows.jsonl:1"), Error);
  REQUIRE(score_of("math", "\\boxed{}", "0") == 0.0);
}

TEST_CASE("B6 fractions, closing stops and long answers") {
  REQUIRE(score_of("math_dapo", "Answer: 1/2", "\\frac{1}{2}") == 1.0);
  REQUIRE(score_of("math_dapo", "Answer: 42.", "42") == 1.0);
  REQUIRE(score_of("math_dapo", "Answer: 41", "42") == -1.0);
  REQUIRE(score_of("math_dapo", "", "42") == -1.0);
  std::string terms = "x";
  while (terms.size() < 120) terms += "+x";
  REQUIRE(score_of("math_dapo", "hence \\boxed{" + terms + "}", terms) == 1.0);
  REQUIRE(boxed(terms, terms) == 1.0);
  REQUIRE(score_of("math_dapo", "Answer: \\boxed{" + terms + "}", terms) == 1.0);
}

TEST_CASE("B6 a label that math cannot read is an error naming the row") {
  for (const char* name : {"math", "math_dapo"}) {
    const auto scorer = test::make_scorer(name);
    for (const nlohmann::json& label :
         {nlohmann::json("\\frac{1}{2"), nlohmann::json("$"), nlohmann::json(nullptr), nlohmann::json("}"),
          nlohmann::json::object()}) {
      REQUIRE_THROWS_WITH(validate_label(*scorer, label, "rows.jsonl:12: reward_model.ground_truth"),
                          Catch::Contains("rows.jsonl:12"));
      REQUIRE_FALSE(scorer->score("\\boxed{1}", label, {}).has_value());
    }
  }
}

TEST_CASE("equal answers in other notation") {
  const std::vector<std::pair<std::string, std::string>> equal = {
      {"\\frac12", "\\frac{1}{2}"},
      {"\\dfrac{1}{2}", "1/2"},
      {"0.5", "\\frac{1}{2}"},
      {"-\\frac{1}{2}", "\\frac{-1}{2}"},
      {"\\frac{1}{-2}", "-0.50"},
      {"\\frac{2}{4}", "\\tfrac12"},
      {".5", "0.5"},
      {"42.0", "42"},
      {"$42$", "42"},
      {"\\(42\\)", "42"},
      {"x = 5", "5"},
      {"5\\text{ cm}", "5"},
      {"5\\,\\mathrm{cm}^2.", "5"},
      {"50\\%", "50"},
      {"90^\\circ", "90"},
      {"90^{\\circ}", "90"},
      {"\\text{Monday}", "Monday"},
      {"\\sqrt3", "\\sqrt{3}"},
      {"x^2+1", "x^{2} + 1"},
      {"\\left( 3, \\frac{\\pi}{2} \\right)", "(3,\\frac{\\pi}{2})"},
      {"{42}", "42"},
      {"\u22123", "-3"},
      {"2\\sqrt[3]{7}", "2\\sqrt[3]7"},
      {"\\frac{\\frac12}{3}", "\\frac{\\frac{1}{2}}3"},
      {"12,", "12"},
  };
  for (const auto& [a, b] : equal) {
    INFO(a << " and " << b << ": " << normalise_math(a) << " and " << normalise_math(b));
    REQUIRE(equal_math(a, b));
    REQUIRE(equal_math(b, a));
  }
}

TEST_CASE("different answers stay different") {
  const std::vector<std::pair<std::string, std::string>> different = {
      {"\\frac{1}{2}", "\\frac{2}{1}"},
      {"-3", "3"},
      {"0.333", "\\frac{1}{3}"},
      {"(1,2)", "(2,1)"},
      {"1/0", "2/0"},
      {"\\pi r", "\\pi"},
      {"x+1", "x"},
      {"", ""},
      {"5 or 7", "5"},
      {"12", "1.2"},
      {"\\frac{1}{2}3", "\\frac{1}{23}"},
      {"10", "1"},
      {"y", "x"},
  };
  for (const auto& [a, b] : different) {
    INFO(a << " and " << b);
    REQUIRE_FALSE(equal_math(a, b));
  }
}

TEST_CASE("the answer line is the last one, in any case") {
  REQUIRE(last_answer_line("Answer: 1\nANSWER : 2\nbye") == "2");
  REQUIRE(last_answer_line("aanswer:\n\n **7**") == "7");
  REQUIRE_FALSE(last_answer_line("Answer 3").has_value());
  REQUIRE_FALSE(last_answer_line("Answer:").has_value());
  REQUIRE(last_answer_line("Answer: so \\boxed{9} it is") == "9");
}

TEST_CASE("hostile texts are read in linear time and never crash") {
  constexpr size_t kMany = 2'000'000;
  std::string opens, mixed;
  while (opens.size() < kMany) opens += "\\boxed{";
  while (mixed.size() < kMany) mixed += "{}\\frac\\text{\\{,#### -$,.answer:^_\\";
  const auto repeated = [](char c) { return std::string(kMany, c); };
  for (const std::string& text :
       {opens, mixed, opens + repeated('}'), repeated('{'), repeated('}'), repeated('\\'), repeated('#'),
        repeated('9'), repeated(','), repeated('-'), repeated('^'), repeated('(')}) {
    for (const char* name : {"gsm8k", "math", "math_dapo", "exact"})
      REQUIRE(test::make_scorer(name, {.flexible = true})->score(text, "12345", {}).has_value());
    REQUIRE_FALSE(equal_math(text, "12345"));
  }
}
