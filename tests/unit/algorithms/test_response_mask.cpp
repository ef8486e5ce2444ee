#include <catch2/catch.hpp>

#include "algorithms/actor_loss.hpp"
#include "algorithms/response_mask.hpp"
#include "batch.hpp"

using namespace verlc;
using Ids = std::vector<int32_t>;
using Mask = std::vector<uint8_t>;

TEST_CASE("B7 any id of the stop set ends a response, and that is no truncation") {
  const Ids stops = {151645, 151643}, ids = {26194, 13, 151643, 33975, 25};
  const ResponseEnd end = find_response_end(ids, stops);
  REQUIRE(end.length == 3);
  REQUIRE_FALSE(end.truncated);
  REQUIRE(response_mask(std::span(ids).first(end.length), stops) == Mask{1, 1, 1});
  // The scalar form knows 151645 only: the response runs to its limit.
  REQUIRE(find_response_end(ids, Ids{151645}).truncated);
  REQUIRE(find_response_end(Ids{5, 106, 7}, Ids{1, 106}).length == 2);
  REQUIRE(find_response_end(Ids{5, 32000}, Ids{32007, 32001, 32000}).length == 2);
}

TEST_CASE("B8 with pad = eos the first one is trained and the padding is not") {
  const Ids ids = {1, 2, 2, 42, 3, 5, 0, 0, 0};
  REQUIRE(response_mask(ids, Ids{0}) == Mask{1, 1, 1, 1, 1, 1, 1, 0, 0});
  REQUIRE_FALSE(find_response_end(ids, Ids{0}).truncated);
}

TEST_CASE("B8 a response that hits its limit is whole and truncated") {
  const Ids ids = {1, 2, 3};
  REQUIRE(response_mask(ids, Ids{0}) == Mask{1, 1, 1});
  REQUIRE(find_response_end(ids, Ids{0}).truncated);
  REQUIRE(find_response_end(Ids{}, Ids{0}).length == 0);
}

TEST_CASE("T11 the stop token is trained, what follows it is not") {
  const Ids ids = {7, 8, 9, 4, 4};
  const test::Batch batch(std::vector<Mask>{response_mask(ids, Ids{9})});
  const std::vector<float> logp = {-1, -2, -3, -100, -100};
  std::vector<float> d_logp(5);
  REQUIRE(sft_loss(batch.layout(), logp, count_loss_tokens(batch.layout()), d_logp).loss == Approx(2.0));
  REQUIRE(d_logp[2] < 0.0F);
  REQUIRE(d_logp[3] == 0.0F);
}
