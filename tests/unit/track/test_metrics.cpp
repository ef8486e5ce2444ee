#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "support/rank_threads.hpp"
#include "track/metrics.hpp"

using namespace verlc;

namespace {

struct Row {
  double reward, loss_sum, tokens, length;
};

std::vector<Row> make_rows() {
  RandomStream stream(11, Purpose::test);
  std::vector<Row> rows(8);
  for (Row& row : rows)
    row = {.reward = stream.normal(),
           .loss_sum = stream.normal() * 1e3,
           .tokens = 1.0 + static_cast<double>(stream.below(500)),
           .length = static_cast<double>(stream.below(100))};
  return rows;
}

void put(Metrics& metrics, std::span<const Row> rows) {
  std::vector<double> lengths;
  metrics.declare("actor/ppo_kl", MetricKind::mean);
  metrics.declare("actor/pg_loss", MetricKind::sum);
  metrics.declare("critic/score/mean", MetricKind::mean);
  for (const Row& row : rows) {
    metrics.put_mean("critic/score/mean", row.reward);
    metrics.put_mean("actor/ppo_kl", row.loss_sum, row.tokens);
    metrics.put_sum("actor/pg_loss", row.loss_sum / 3.0);
    lengths.push_back(row.length);
  }
  metrics.put_spread("response_length", lengths);
  metrics.put_last("actor/lr", 1e-6);
}

MetricValues spread_over(size_t ranks, const std::vector<Row>& rows) {
  std::vector<MetricValues> results(ranks);
  test::run_ranks(ranks, [&](size_t rank, GroupReducer& group) {
    const size_t per_rank = rows.size() / ranks;
    Metrics metrics;
    put(metrics, std::span(rows).subspan(rank * per_rank, per_rank));
    results[rank] = metrics.reduce(group);
  });
  for (const MetricValues& other : results) REQUIRE(other == results.front());
  return results.front();
}

}  // namespace

TEST_CASE("A38 each metric is identical for 1x8, 2x4, 4x2 and 8x1 ranks x rows") {
  const std::vector<Row> rows = make_rows();
  const MetricValues one = spread_over(1, rows);
  REQUIRE(one.size() == 7);
  for (const size_t ranks : {2, 4, 8}) REQUIRE(spread_over(ranks, rows) == one);
}

TEST_CASE("A38 the values are those of the whole batch") {
  const std::vector<Row> rows = make_rows();
  const MetricValues values = spread_over(4, rows);
  double reward = 0.0, loss = 0.0, tokens = 0.0, longest = 0.0, shortest = 1e9;
  for (const Row& row : rows) {
    reward += row.reward / 8.0;
    loss += row.loss_sum;
    tokens += row.tokens;
    longest = std::max(longest, row.length);
    shortest = std::min(shortest, row.length);
  }
  REQUIRE(values.at("critic/score/mean") == Approx(reward));
  REQUIRE(values.at("actor/ppo_kl") == Approx(loss / tokens));
  REQUIRE(values.at("actor/pg_loss") == Approx(loss / 3.0));
  REQUIRE(values.at("response_length/max") == longest);
  REQUIRE(values.at("response_length/min") == shortest);
  REQUIRE(values.at("actor/lr") == 1e-6);
}

TEST_CASE("a rank without rows joins and changes nothing") {
  const std::vector<Row> rows = make_rows();
  std::vector<MetricValues> results(2);
  test::run_ranks(2, [&](size_t rank, GroupReducer& group) {
    Metrics metrics;
    put(metrics, rank == 0 ? std::span<const Row>(rows) : std::span<const Row>());
    results[rank] = metrics.reduce(group);
  });
  REQUIRE(results[0] == spread_over(1, rows));
  REQUIRE(results[1] == results[0]);
}

TEST_CASE("nothing is reported where nothing was put") {
  Metrics metrics;
  LocalReducer group;
  metrics.declare("a/mean", MetricKind::mean);
  metrics.put_spread("b", {});
  metrics.put_mean("c/mean", 0.0, 0.0);
  REQUIRE(metrics.reduce(group).empty());
  REQUIRE(Metrics().reduce(group).empty());
}

TEST_CASE("ranks that report different metrics all stop with an error") {
  std::vector<std::string> messages(2);
  test::run_ranks(2, [&](size_t rank, GroupReducer& group) {
    Metrics metrics;
    metrics.put_sum(rank == 0 ? "a" : "b", 1.0);
    try {
      metrics.reduce(group);
    } catch (const Error& error) {
      messages[rank] = error.what();
    }
  });
  for (const std::string& message : messages) REQUIRE_THAT(message, Catch::Contains("different metrics"));
}

TEST_CASE("parts of a loss add up over micro-batches") {
  Metrics metrics;
  LocalReducer group;
  const std::vector<MetricPart> first = {
      {.name = "actor/pg_loss", .total = 0.25},
      {.name = "actor/pg_clipfrac", .kind = MetricPart::Kind::mean, .total = 1, .weight = 4}};
  const std::vector<MetricPart> second = {
      {.name = "actor/pg_loss", .total = 0.5},
      {.name = "actor/pg_clipfrac", .kind = MetricPart::Kind::mean, .total = 2, .weight = 8}};
  metrics.put_parts(first);
  metrics.put_parts(second);
  REQUIRE(metrics.reduce(group) == MetricValues{{"actor/pg_clipfrac", 0.25}, {"actor/pg_loss", 0.75}});
}

TEST_CASE("metrics of several optimiser steps are averaged over those that hold them") {
  const std::vector<MetricValues> updates = {{{"actor/pg_loss", 1.0}, {"a", 2.0}}, {{"actor/pg_loss", 2.0}}};
  REQUIRE(mean_of(updates) == MetricValues{{"a", 2.0}, {"actor/pg_loss", 1.5}});
  REQUIRE(mean_of({}).empty());
}
