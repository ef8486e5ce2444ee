#include <catch2/catch.hpp>
#include <numeric>

#include "algorithms/actor_loss.hpp"
#include "batch.hpp"
#include "core/base/error.hpp"
#include "support/rank_threads.hpp"

using namespace verlc;
using test::Batch;

namespace {

// Traps T1: sequence A has 2 tokens of loss 1, B has 8 tokens of 0.25.
struct Golden {
  std::vector<std::vector<uint8_t>> masks = {std::vector<uint8_t>(2, 1), std::vector<uint8_t>(8, 1)};
  std::vector<double> losses = {1.0, 0.25};
};

// The aggregated loss of some rows, given counts of the whole step.
double share(const Golden& golden, const std::vector<size_t>& rows, Aggregation mode,
             const GlobalCounts& counts) {
  std::vector<std::vector<uint8_t>> masks;
  for (const size_t row : rows) masks.push_back(golden.masks[row]);
  const Batch batch(masks);
  const std::vector<double> weights = token_weights(mode, batch.layout(), counts);
  double loss = 0.0;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t t = batch.layout().begin(i); t < batch.layout().end(i); ++t)
      loss += weights[t] * golden.losses[rows[i]];
  return loss;
}

const std::vector<std::pair<Aggregation, double>> kExpected = {{Aggregation::token_mean, 0.4},
                                                               {Aggregation::seq_mean_token_mean, 0.625},
                                                               {Aggregation::seq_mean_token_sum, 2.0},
                                                               {Aggregation::seq_mean_token_sum_norm, 0.125}};

}  // namespace

TEST_CASE("T1 aggregation modes give the golden numbers for every split into micro-batches") {
  const Golden golden;
  const GlobalCounts counts{.tokens = 10, .sequences = 2, .norm_constant = 16 * 2};
  for (const auto& [mode, expected] : kExpected) {
    REQUIRE(share(golden, {0, 1}, mode, counts) == Approx(expected).epsilon(1e-14));
    REQUIRE(share(golden, {0}, mode, counts) + share(golden, {1}, mode, counts) ==
            Approx(expected).epsilon(1e-14));
  }
}

TEST_CASE("T1 the loss and its gradient are equal for 1x8, 2x4, 8x1 micro-batches and 1, 2, 4 ranks") {
  std::vector<std::vector<uint8_t>> masks;
  for (size_t s = 0; s < 8; ++s) {
    masks.emplace_back(3 + 2 * s, uint8_t{1});
    masks.back()[s % 3] = 0;
  }
  const auto run = [&](size_t ranks, size_t micro_rows, Aggregation mode) {
    std::vector<std::vector<float>> gradients(8);
    std::vector<double> losses(ranks, 0.0);
    test::run_ranks(ranks, [&](size_t rank, GroupReducer& group) {
      const size_t rows = 8 / ranks;
      const std::vector<std::vector<uint8_t>> mine(masks.begin() + rank * rows,
                                                   masks.begin() + (rank + 1) * rows);
      GlobalCounts counts = reduce_counts(count_loss_tokens(Batch(mine).layout()), group);
      counts.norm_constant = 64 * 8;
      const PolicyLossRegistry registry = make_policy_loss_registry();
      const ActorLossParams params{.loss = &registry.find("vanilla", "test"), .aggregation = mode};
      for (size_t first = 0; first < rows; first += std::min(micro_rows, rows)) {
        const size_t last = std::min(rows, first + micro_rows);
        const Batch micro(std::vector<std::vector<uint8_t>>(mine.begin() + first, mine.begin() + last));
        std::vector<float> logp, old, advantages;
        for (size_t i = first; i < last; ++i)
          for (size_t t = 0; t < mine[i].size(); ++t) {
            const auto row = static_cast<float>(rank * rows + i);
            logp.push_back(-1.0F - 0.01F * static_cast<float>(t) - 0.1F * row);
            old.push_back(logp.back() + 0.02F * static_cast<float>(t % 5) - 0.04F);
            advantages.push_back(row - 3.5F);
          }
        std::vector<float> d_logp(logp.size());
        losses[rank] += actor_loss({.layout = micro.layout(),
                                    .logp = logp,
                                    .old_logp = old,
                                    .advantages = advantages,
                                    .counts = counts},
                                   params, {.d_logp = d_logp})
                            .loss;
        for (size_t i = first; i < last; ++i)
          gradients[rank * rows + i].assign(d_logp.begin() + micro.cu_seqlens[i - first],
                                            d_logp.begin() + micro.cu_seqlens[i - first + 1]);
      }
    });
    return std::pair(gradients, std::accumulate(losses.begin(), losses.end(), 0.0));
  };
  for (const auto& entry : kExpected) {
    const auto [gradients, loss] = run(1, 8, entry.first);
    for (const size_t ranks : {1, 2, 4})
      for (const size_t micro : {1, 2, 4, 8}) {
        const auto [other_gradients, other_loss] = run(ranks, micro, entry.first);
        REQUIRE(other_gradients == gradients);
        REQUIRE(other_loss == Approx(loss).margin(1e-12));
      }
  }
}

TEST_CASE("T2 the Dr.GRPO divisor is the recipe's constant, whatever else the batch holds") {
  const GlobalCounts counts{.tokens = 5, .sequences = 2, .norm_constant = 100.0};
  const Batch narrow({{1, 1}, {1, 1, 1}});
  const Batch wide({{1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}});
  const auto mode = Aggregation::seq_mean_token_sum_norm;
  const std::vector<double> a = token_weights(mode, narrow.layout(), counts);
  const std::vector<double> b = token_weights(mode, wide.layout(), counts);
  for (size_t t = 0; t < 5; ++t) {
    REQUIRE(a[t] == 0.01);
    REQUIRE(b[t] == 0.01);
  }
}

TEST_CASE("T3 only loss tokens and sequences that have one are counted") {
  const Batch batch({{1, 0, 1}, {0, 0}, {1}});
  const GlobalCounts counts = count_loss_tokens(batch.layout());
  REQUIRE(counts.tokens == 3.0);
  REQUIRE(counts.sequences == 2.0);
  const std::vector<double> weights = token_weights(Aggregation::seq_mean_token_mean, batch.layout(), counts);
  REQUIRE(weights == std::vector<double>{0.25, 0.0, 0.25, 0.0, 0.0, 0.5});
}

TEST_CASE("T3 a step without loss tokens has loss 0 and zero derivatives, not NaN") {
  const Batch batch({{0, 0}, {0}});
  const PolicyLossRegistry registry = make_policy_loss_registry();
  for (const auto& entry : kExpected) {
    GlobalCounts counts = count_loss_tokens(batch.layout());
    counts.norm_constant = 16.0;
    const std::vector<float> values(3, -1.0F);
    std::vector<float> d_logp(3, 7.0F), d_entropy(3, 7.0F);
    const LossResult result = actor_loss({.layout = batch.layout(),
                                          .logp = values,
                                          .entropy = values,
                                          .old_logp = values,
                                          .ref_logp = values,
                                          .advantages = values,
                                          .counts = counts},
                                         {.loss = &registry.find("vanilla", "test"),
                                          .aggregation = entry.first,
                                          .entropy_coeff = 0.1,
                                          .use_kl_loss = true},
                                         {.d_logp = d_logp, .d_entropy = d_entropy});
    REQUIRE(result.loss == 0.0);
    REQUIRE(d_logp == std::vector<float>(3, 0.0F));
    REQUIRE(d_entropy == std::vector<float>(3, 0.0F));
    std::vector<float> d_sft(3, 7.0F);
    REQUIRE(sft_loss(batch.layout(), values, counts, d_sft).loss == 0.0);
    REQUIRE(d_sft == std::vector<float>(3, 0.0F));
  }
}

TEST_CASE("T4 a last, smaller window is divided by its own counts and nothing else") {
  // Five rows in windows of two: the last window holds one row and is a whole step of its own.
  const Batch last({{1, 1, 1, 1}});
  const GlobalCounts counts = count_loss_tokens(last.layout());
  const std::vector<float> logp = {-1.0F, -2.0F, -3.0F, -6.0F};
  std::vector<float> d_logp(4);
  REQUIRE(sft_loss(last.layout(), logp, counts, d_logp).loss == 3.0);
  REQUIRE(d_logp == std::vector<float>(4, -0.25F));
}

TEST_CASE("T5 the SFT loss of a union is the sum of its parts' losses") {
  const Batch all({{1, 1, 0}, {1}, {0, 1}});
  const GlobalCounts counts = count_loss_tokens(all.layout());
  const std::vector<float> logp = {-0.5F, -1.25F, -9.0F, -2.0F, -9.0F, -0.25F};
  std::vector<float> d_all(6);
  const double whole = sft_loss(all.layout(), logp, counts, d_all).loss;
  double parts = 0.0;
  std::vector<float> d_parts;
  for (const std::vector<std::vector<uint8_t>>& masks :
       {std::vector<std::vector<uint8_t>>{{1, 1, 0}}, std::vector<std::vector<uint8_t>>{{1}, {0, 1}}}) {
    const Batch part(masks);
    std::vector<float> d_part(part.mask.size());
    const std::span<const float> view = std::span(logp).subspan(d_parts.size(), part.mask.size());
    parts += sft_loss(part.layout(), view, counts, d_part).loss;
    d_parts.insert(d_parts.end(), d_part.begin(), d_part.end());
  }
  REQUIRE(whole == 1.0);
  REQUIRE(parts == whole);
  REQUIRE(d_parts == d_all);
}

TEST_CASE("every aggregation name is read back, and a wrong one names the nearest") {
  for (const std::string& name : aggregation_names())
    REQUIRE(aggregation_name(parse_aggregation(name, "actor.loss_agg_mode")) == name);
  REQUIRE_THROWS_WITH(parse_aggregation("token-men", "actor.loss_agg_mode"),
                      Catch::Contains("actor.loss_agg_mode") && Catch::Contains("did you mean token-mean"));
}
