#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "rewards/decimal.hpp"
#include "scoring.hpp"

using namespace verlc;
using test::score_of;

TEST_CASE("B1 one normalisation for the answer and the label") {
  REQUIRE(score_of("gsm8k", "#### 1,000", "1000") == 1.0);
  REQUIRE(score_of("gsm8k", "#### $1,000", "1000") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 42.", "42") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 42.0", "42") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 1,000", "1,000") == 1.0);
  REQUIRE(score_of("gsm8k", "####42", "42") == 0.0);
  REQUIRE(score_of("gsm8k", "####42", "42", {.flexible = true}) == 1.0);
}

TEST_CASE("gsm8k strict: the last marked number counts") {
  REQUIRE(score_of("gsm8k", "#### 7\nno: #### 8", "8") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 7\nno: #### 8", "7") == 0.0);
  REQUIRE(score_of("gsm8k", "the answer is 8", "8") == 0.0);
  REQUIRE(score_of("gsm8k", "#### -12 apples", "-12") == 1.0);
  REQUIRE(score_of("gsm8k", "#### -$5", "-5") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 8 and then nothing: ####", "8") == 1.0);
  REQUIRE(score_of("gsm8k", "#### 1,00", "100") == 0.0);
  REQUIRE(score_of("gsm8k", "#### .50", "0.5") == 1.0);
  REQUIRE(score_of("gsm8k", "", "8") == 0.0);
  REQUIRE(score_of("gsm8k", "#### 9", 9) == 1.0);
  REQUIRE(score_of("gsm8k", "#### 9.5", 9.5) == 1.0);
}

TEST_CASE("gsm8k compares digits, not floating point") {
  const std::string digits = "100000000000000000000000000000000000001";
  REQUIRE(score_of("gsm8k", "#### " + digits, digits) == 1.0);
  REQUIRE(score_of("gsm8k", "#### 100000000000000000000000000000000000002", digits) == 0.0);
}

TEST_CASE("gsm8k flexible: the last number, signs told from dashes") {
  const ScorerOptions flexible{.flexible = true};
  REQUIRE(score_of("gsm8k", "first 3, then 1,234.", "1234", flexible) == 1.0);
  REQUIRE(score_of("gsm8k", "so x = -5", "-5", flexible) == 1.0);
  REQUIRE(score_of("gsm8k", "10-3", "3", flexible) == 1.0);
  REQUIRE(score_of("gsm8k", "cost: $7.50!", "7.5", flexible) == 1.0);
  REQUIRE(score_of("gsm8k", "no digits...", "7", flexible) == 0.0);
}

TEST_CASE("gsm8k gives the format score to a wrong answer only") {
  const ScorerOptions options{.format_score = 0.1};
  REQUIRE(score_of("gsm8k", "#### 7", "8", options) == 0.1);
  REQUIRE(score_of("gsm8k", "7", "8", options) == 0.0);
  REQUIRE(score_of("gsm8k", "#### 8", "8", options) == 1.0);
}

TEST_CASE("B6 a label that gsm8k cannot read is an error naming the row, and never a 0") {
  const auto scorer = test::make_scorer("gsm8k");
  REQUIRE_THROWS_WITH(
      validate_label(*scorer, "twelve", "rows.jsonl:7: reward_model.ground_truth"),
      Catch::Contains("rows.jsonl:7: reward_model.ground_truth") && Catch::Contains("twelve"));
  for (const nlohmann::json& label : {nlohmann::json("1,00"), nlohmann::json(""), nlohmann::json(),
                                      nlohmann::json::array({1}), nlohmann::json("1e5")}) {
    REQUIRE_FALSE(scorer->label_problem(label).empty());
    const Score score = scorer->score("#### 1", label, {});
    REQUIRE_FALSE(score.has_value());
    REQUIRE(score.error().kind == ScoreError::Kind::label);
  }
  validate_label(*scorer, "1,000.50", "here");
}

TEST_CASE("decimals have one form per value") {
  REQUIRE(parse_decimal("007.10") == parse_decimal("+7.1"));
  REQUIRE(parse_decimal("-0.00") == parse_decimal("0"));
  REQUIRE(parse_decimal("-1") != parse_decimal("1"));
  for (const char* text :
       {"", ".", "-", "$", "1.2.3", "1,", ",1", "12,34", "1234,567", "1 000", "--1", "0x10", "1e3"}) {
    INFO(text);
    REQUIRE_FALSE(parse_decimal(text).has_value());
  }
}
