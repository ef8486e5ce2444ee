#include <catch2/catch.hpp>
#include <map>

#include "rollout/sample/stop.hpp"

using namespace verlc::rollout;

namespace {

/// Token i is the i-th piece.
class Pieces final : public TextStream {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::string push(int32_t token) override { return pieces_[static_cast<size_t>(token)]; }

 private:
  std::vector<std::string> pieces_;
};

int64_t tokens_until_stop(StopMatcher& matcher, const std::vector<int32_t>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (matcher.push(tokens[i])) return static_cast<int64_t>(i) + 1;
  return -1;
}

const std::vector<int32_t> kEos{151645, 151643};

}  // namespace

TEST_CASE("any id of the union ends the response and is its last token (B7)") {
  StopMatcher matcher({}, kEos, nullptr);
  REQUIRE(tokens_until_stop(matcher, {26194, 13, 151643, 33975, 25}) == 3);
}

TEST_CASE("ignore_eos leaves only the request's own ids") {
  Sampling sampling;
  sampling.ignore_eos = true;
  sampling.stop_ids = {25};
  StopMatcher matcher(sampling, kEos, nullptr);
  REQUIRE(tokens_until_stop(matcher, {26194, 13, 151643, 33975, 25}) == 5);
  REQUIRE(matcher.ids() == std::vector<int32_t>{25});
}

TEST_CASE("nothing ends a response before min_new_tokens") {
  Sampling sampling;
  sampling.min_new_tokens = 3;
  StopMatcher matcher(sampling, kEos, nullptr);
  REQUIRE(matcher.must_continue());
  REQUIRE_FALSE(matcher.push(1));
  REQUIRE(matcher.must_continue());
  REQUIRE_FALSE(matcher.push(1));
  REQUIRE_FALSE(matcher.must_continue());
  REQUIRE(matcher.push(151643));
}

TEST_CASE("a stop string is found inside a token and across tokens") {
  const std::vector<std::string> pieces{"abc", "#", "##", " x", "", "END.", "E", "N", "D"};
  Sampling sampling;
  sampling.stop_strings = {"###", "END"};
  const auto until = [&](const std::vector<int32_t>& tokens) {
    StopMatcher matcher(sampling, {}, std::make_unique<Pieces>(pieces));
    return tokens_until_stop(matcher, tokens);
  };
  REQUIRE(until({0, 1, 2}) == 3);
  REQUIRE(until({0, 2, 4, 1}) == 4);
  REQUIRE(until({0, 5}) == 2);
  REQUIRE(until({6, 7, 0, 6, 7, 4, 8}) == 7);
  REQUIRE(until({2, 3, 2, 3}) == -1);
}

TEST_CASE("a stop string of one character and an empty one") {
  Sampling sampling;
  sampling.stop_strings = {"#", ""};
  StopMatcher matcher(sampling, {}, std::make_unique<Pieces>(std::vector<std::string>{"a", "#"}));
  REQUIRE(tokens_until_stop(matcher, {0, 0, 1}) == 3);
}
