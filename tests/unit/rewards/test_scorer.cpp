#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "scoring.hpp"

using namespace verlc;
using test::score_of;

TEST_CASE("exact compares up to blanks, optionally behind a marker and in any case") {
  REQUIRE(score_of("exact", "  a  b\n", "a b") == 1.0);
  REQUIRE(score_of("exact", "ab", "a b") == 0.0);
  REQUIRE(score_of("exact", "A b", "a b") == 0.0);
  REQUIRE(score_of("exact", "A b", "a b", {.ignore_case = true}) == 1.0);
  REQUIRE(score_of("exact", "= 3\n= 42", 42, {.marker = "="}) == 1.0);
  REQUIRE(score_of("exact", "42", 42, {.marker = "="}) == 0.0);
  REQUIRE_FALSE(test::make_scorer("exact")->label_problem("  ").empty());
}

TEST_CASE("every scorer gives its gold answer the maximum and an empty answer less") {
  for (const std::string& name : make_scorer_registry().names())
    for (const char* label : {"42", "1,000", "-0.5"}) {
      INFO(name << " " << label);
      self_test(*test::make_scorer(name), label, "test");
      self_test(*test::make_scorer(name, {.flexible = true, .marker = "Answer"}), label, "test");
    }
  self_test(*test::make_scorer("math"), "\\left\\{ \\frac12, 3 \\right\\}", "test");
  REQUIRE_THROWS_AS(self_test(*test::make_scorer("gsm8k"), "seven", "rows.jsonl:3"), Error);
}

TEST_CASE("self_test catches a scorer that always returns one number") {
  struct Constant final : Scorer {
    double value;
    explicit Constant(double v) : value(v) {}
    [[nodiscard]] Score score(std::string_view, const nlohmann::json&, const nlohmann::json&) const override {
      return Score::of(value);
    }
    [[nodiscard]] std::string label_problem(const nlohmann::json&) const override { return ""; }
    [[nodiscard]] std::string gold_answer(const nlohmann::json&) const override { return "gold"; }
  };
  REQUIRE_THROWS_WITH(self_test(Constant(0.0), "x", "here"), Catch::Contains("gold answer"));
  REQUIRE_THROWS_WITH(self_test(Constant(1.0), "x", "here"), Catch::Contains("empty answer"));
}

TEST_CASE("a row finds its scorer by data_source, or by the recipe's name") {
  const ScorerRegistry registry = make_scorer_registry();
  const auto name_of = [&](const char* source) {
    return find_by_data_source(registry, source, "rows.jsonl:1").name;
  };
  REQUIRE(name_of("openai/gsm8k") == "gsm8k");
  REQUIRE(name_of("lighteval/MATH") == "math");
  REQUIRE(name_of("DigitalLearningGmbH/MATH-lighteval") == "math");
  REQUIRE(name_of("HuggingFaceH4/MATH-500") == "math");
  REQUIRE(name_of("math_dapo") == "math_dapo");
  REQUIRE(name_of("aime2024") == "math_dapo");
  REQUIRE_THROWS_WITH(name_of("my/data"), Catch::Contains("rows.jsonl:1") && Catch::Contains("my/data") &&
                                              Catch::Contains("reward.name"));
  REQUIRE_THROWS_WITH(ScorerTable("gsm8", {}),
                      Catch::Contains("reward.name") && Catch::Contains("did you mean gsm8k"));
  const ScorerTable named("exact", {});
  REQUIRE(named.scorer_for("my/data", "here").score("a", "a", {}).value() == 1.0);
  const ScorerTable by_source("auto", {});
  REQUIRE(by_source.scorer_for("openai/gsm8k", "here").score("#### 1", "1", {}).value() == 1.0);
}

TEST_CASE("options come from the recipe's table, each key checked") {
  const ScorerOptions options = parse_scorer_options(
      nlohmann::json::parse(R"({"method":"flexible","format_score":0.1,"marker":"=","ignore_case":true})"));
  REQUIRE(options.flexible);
  REQUIRE(options.format_score == 0.1);
  REQUIRE(options.marker == "=");
  REQUIRE(options.ignore_case);
  REQUIRE_FALSE(parse_scorer_options(nlohmann::json::object()).flexible);
  for (const char* text : {R"({"metod":"strict"})", R"({"method":"lenient"})", R"({"format_score":"x"})",
                           R"({"marker":1})", R"({"ignore_case":0})"})
    REQUIRE_THROWS_WITH(parse_scorer_options(nlohmann::json::parse(text)), Catch::Contains("reward.config."));
}
