#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "algorithms/actor_loss.hpp"
#include "algorithms/importance_weights.hpp"
#include "batch.hpp"
#include "core/base/error.hpp"

using namespace verlc;
using test::Batch;

namespace {

struct Fixture {
  Batch batch{{{1, 1, 0, 1, 1}, {1, 1, 1}, {0, 1, 1, 1}}};
  // Multiples of 1/1024, so that steps of 1/1024 are exact in float and the loss is a double function of
  // them.
  std::vector<float> logp, old_logp, ref_logp, advantages, entropy, is_weights;
  PolicyLossRegistry registry = make_policy_loss_registry();
  ActorLossParams params;
  GlobalCounts counts;

  Fixture() {
    const std::vector<int> offsets = {50, -100, 7, 400, -400, 250, -300, 1500, -1500, 300, 30, -60};
    const std::vector<float> signs = {1, -1, 1, 1, 1, -1, -1, -1, -0.5F, 2, 0.25F, -3};
    for (size_t t = 0; t < batch.mask.size(); ++t) {
      old_logp.push_back(-1.0F - static_cast<float>(t) / 8.0F);
      logp.push_back(old_logp[t] + static_cast<float>(offsets[t]) / 1024.0F);
      ref_logp.push_back(logp[t] + static_cast<float>((static_cast<int>(t) % 5) * 300 - 500) / 1024.0F);
      advantages.push_back(signs[t]);
      entropy.push_back(0.5F + static_cast<float>(t) / 16.0F);
      is_weights.push_back(1.0F + static_cast<float>(t % 3) / 4.0F);
    }
    params.loss = &registry.find("vanilla", "actor.policy_loss.loss_mode");
    counts = count_loss_tokens(batch.layout());
    counts.norm_constant = 40.0;
  }

  LossResult run(std::span<float> d_logp, std::span<float> d_entropy) const {
    return actor_loss({.layout = batch.layout(),
                       .logp = logp,
                       .entropy = entropy,
                       .old_logp = old_logp,
                       .ref_logp = ref_logp,
                       .advantages = advantages,
                       .is_weights = is_weights,
                       .counts = counts},
                      params, {.d_logp = d_logp, .d_entropy = d_entropy});
  }

  double loss() const {
    std::vector<float> d_logp(logp.size()), d_entropy(logp.size());
    return run(d_logp, d_entropy).loss;
  }

  // Central difference of fourth order with exact float steps.
  double difference(std::vector<float>& values, size_t t) {
    const float at = values[t];
    const float h = 1.0F / 1024.0F;
    const auto probe = [&](float step) {
      values[t] = at + step;
      const double value = loss();
      values[t] = at;
      return value;
    };
    return (8.0 * (probe(h) - probe(-h)) - (probe(2 * h) - probe(-2 * h))) / (12.0 * static_cast<double>(h));
  }
};

double total_of(const LossResult& result, std::string_view name) {
  for (const MetricPart& part : result.metrics)
    if (part.name == name) return part.total;
  FAIL("no metric " << name);
  return 0.0;
}

double vanilla_token(float log_ratio, float advantage, float* d_logp = nullptr, double c = 3.0) {
  const Batch batch = test::one_token_samples(1);
  const PolicyLossRegistry registry = make_policy_loss_registry();
  const std::vector<float> logp = {log_ratio}, old = {0.0F}, advantages = {advantage};
  std::vector<float> gradient(1);
  const double loss = actor_loss({.layout = batch.layout(),
                                  .logp = logp,
                                  .old_logp = old,
                                  .advantages = advantages,
                                  .counts = {.tokens = 1, .sequences = 1}},
                                 {.loss = &registry.find("vanilla", "k"), .policy = {.clip_ratio_c = c}},
                                 {.d_logp = gradient})
                          .loss;
  if (d_logp != nullptr) *d_logp = gradient[0];
  return loss;
}

}  // namespace

TEST_CASE("vanilla: closed forms of each branch") {
  float d = 0.0F;
  REQUIRE(vanilla_token(0.0F, 2.0F, &d) == -2.0);
  REQUIRE(d == -2.0F);
  // ratio 1.5, A > 0: clipped at 1.2, no gradient.
  REQUIRE(vanilla_token(std::log(1.5F), 1.0F, &d) == Approx(-1.2));
  REQUIRE(d == 0.0F);
  // ratio 0.5, A > 0: the pessimistic side is not clipped.
  REQUIRE(vanilla_token(std::log(0.5F), 1.0F, &d) == Approx(-0.5));
  REQUIRE(d == Approx(-0.5));
  // ratio 0.5, A < 0: clipped at 0.8.
  REQUIRE(vanilla_token(std::log(0.5F), -1.0F, &d) == Approx(0.8));
  REQUIRE(d == 0.0F);
  // ratio 2, A < 0: not clipped below c; ratio 5: bounded by c = 3.
  REQUIRE(vanilla_token(std::log(2.0F), -1.0F, &d) == Approx(2.0));
  REQUIRE(d == Approx(2.0));
  REQUIRE(vanilla_token(std::log(5.0F), -1.0F, &d) == Approx(3.0));
  REQUIRE(d == 0.0F);
  // The log-ratio clamp: huge but finite, without gradient.
  REQUIRE(vanilla_token(30.0F, -1.0F, &d, 1e12) == Approx(std::exp(20.0)));
  REQUIRE(d == 0.0F);
}

TEST_CASE("the actor loss agrees with finite differences for every aggregation and KL estimator") {
  Fixture f;
  f.params.entropy_coeff = 0.03;
  f.params.kl_loss_coef = 0.2;
  std::vector<float> d_logp(f.logp.size()), d_entropy(f.logp.size());
  for (const std::string& mode : aggregation_names()) {
    f.params.aggregation = parse_aggregation(mode, "k");
    for (const std::string kl : {"", "k1", "abs", "k2", "k3"}) {
      f.params.use_kl_loss = !kl.empty();
      if (!kl.empty()) f.params.kl_loss_type = parse_kl(kl, "k");
      f.run(d_logp, d_entropy);
      for (size_t t = 0; t < d_logp.size(); ++t) {
        INFO(mode << " " << kl << " token " << t);
        REQUIRE(d_logp[t] == Approx(f.difference(f.logp, t)).epsilon(2e-6).margin(1e-9));
        REQUIRE(d_entropy[t] == Approx(f.difference(f.entropy, t)).epsilon(2e-6).margin(1e-9));
      }
    }
  }
}

TEST_CASE("the batch of the finite differences reaches every branch of vanilla") {
  Fixture f;
  std::vector<float> d_logp(f.logp.size()), d_entropy(f.logp.size());
  const LossResult result = f.run(d_logp, d_entropy);
  REQUIRE(total_of(result, "actor/pg_clipfrac") == 3.0);
  REQUIRE(total_of(result, "actor/pg_clipfrac_lower") == 1.0);
  double kl = 0.0;
  for (size_t t = 0; t < f.logp.size(); ++t)
    if (f.batch.mask[t] != 0) kl += static_cast<double>(f.old_logp[t]) - static_cast<double>(f.logp[t]);
  REQUIRE(total_of(result, "actor/ppo_kl") == Approx(kl));
  REQUIRE(total_of(result, "actor/pg_loss") == Approx(f.loss()));
}

TEST_CASE("T10 junk at masked slots reaches no loss, derivative, metric or KL") {
  Fixture f;
  f.params.entropy_coeff = 0.03;
  f.params.use_kl_loss = true;
  std::vector<float> d_logp(f.logp.size()), d_entropy(f.logp.size()), dirty_logp = d_logp,
                                                                      dirty_entropy = d_entropy;
  const LossResult clean = f.run(d_logp, d_entropy);
  std::vector<float> d_sft(f.logp.size()), dirty_sft(f.logp.size());
  const double sft = sft_loss(f.batch.layout(), f.logp, f.counts, d_sft).loss;
  KlController before({});
  LocalReducer group;
  const KlPenaltyResult penalty =
      apply_kl_penalty(f.batch.layout(), f.advantages, f.logp, f.ref_logp, {}, before, group);
  for (const float junk : {std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
    for (size_t t = 0; t < f.logp.size(); ++t)
      if (f.batch.mask[t] == 0)
        f.logp[t] = f.old_logp[t] = f.ref_logp[t] = f.advantages[t] = f.entropy[t] = f.is_weights[t] = junk;
    const LossResult dirty = f.run(dirty_logp, dirty_entropy);
    REQUIRE(dirty.loss == clean.loss);
    REQUIRE(dirty_logp == d_logp);
    REQUIRE(dirty_entropy == d_entropy);
    for (size_t i = 0; i < clean.metrics.size(); ++i)
      REQUIRE(dirty.metrics[i].total == clean.metrics[i].total);
    REQUIRE(sft_loss(f.batch.layout(), f.logp, f.counts, dirty_sft).loss == sft);
    REQUIRE(dirty_sft == d_sft);
    KlController after({});
    const KlPenaltyResult dirty_penalty =
        apply_kl_penalty(f.batch.layout(), f.advantages, f.logp, f.ref_logp, {}, after, group);
    REQUIRE(dirty_penalty.rewards == penalty.rewards);
    REQUIRE(dirty_penalty.mean_kl == penalty.mean_kl);
    const Batch& b = f.batch;
    for (const float w : importance_weights(ImportanceLevel::sequence, b.layout(), f.old_logp, f.logp, 2.0))
      REQUIRE(std::isfinite(w));
  }
}

TEST_CASE("T22 importance weights are capped, masked, and multiply the token loss") {
  const Batch batch({{1, 1, 0}});
  const std::vector<float> old = {-1.0F, -2.0F, NAN}, rollout = {-2.0F, -1.0F, 0.0F};
  const std::vector<float> token =
      importance_weights(ImportanceLevel::token, batch.layout(), old, rollout, 2.0);
  REQUIRE(token[0] == 2.0F);
  REQUIRE(token[1] == Approx(0.367879).margin(1e-6));
  REQUIRE(token[2] == 0.0F);
  const std::vector<float> sequence =
      importance_weights(ImportanceLevel::sequence, batch.layout(), old, rollout, 2.0);
  REQUIRE(sequence == std::vector<float>{1.0F, 1.0F, 0.0F});
}

TEST_CASE("T10 junk at masked slots reaches no policy loss") {
  for (const std::string& name : make_policy_loss_registry().names()) {
    INFO(name);
    Fixture f;
    f.params.loss = &f.registry.find(name, "k");
    f.params.policy.clip_cov_lb = -1.0;
    std::vector<float> d_logp(f.logp.size()), dirty(f.logp.size()), d_entropy(f.logp.size());
    const double clean = f.run(d_logp, d_entropy).loss;
    for (size_t t = 0; t < f.logp.size(); ++t)
      if (f.batch.mask[t] == 0)
        f.logp[t] = f.old_logp[t] = f.advantages[t] = f.is_weights[t] =
            std::numeric_limits<float>::quiet_NaN();
    REQUIRE(f.run(dirty, d_entropy).loss == clean);
    REQUIRE(dirty == d_logp);
    for (size_t t = 0; t < f.logp.size(); ++t)
      if (f.batch.mask[t] == 0) REQUIRE(d_logp[t] == 0.0F);
  }
}

TEST_CASE("on-policy every ratio loss has the gradient of vanilla") {
  Fixture f;
  f.logp = f.old_logp;
  f.params.aggregation = Aggregation::seq_mean_token_mean;
  f.is_weights.assign(f.logp.size(), 1.0F);
  // Equal within a sequence, as outcome advantages are.
  for (size_t s = 0; s < f.batch.layout().num_samples(); ++s)
    for (size_t t = f.batch.layout().begin(s); t < f.batch.layout().end(s); ++t)
      f.advantages[t] = s == 1 ? -1.5F : 0.5F + static_cast<float>(s);
  std::vector<float> expected(f.logp.size()), d_logp(f.logp.size()), d_entropy(f.logp.size());
  f.run(expected, d_entropy);
  for (const std::string name :
       {"gspo", "cispo", "geo_mean", "sapo", "gpg", "dppo_tv", "dppo_kl", "dro", "kl_cov"}) {
    INFO(name);
    f.params.loss = &f.registry.find(name, "k");
    f.run(d_logp, d_entropy);
    for (size_t t = 0; t < d_logp.size(); ++t) REQUIRE(d_logp[t] == Approx(expected[t]).margin(1e-7));
  }
}

TEST_CASE("gspo and geo_mean of responses of one token are the clip without its dual") {
  const PolicyLossRegistry registry = make_policy_loss_registry();
  const Batch batch = test::one_token_samples(6);
  const std::vector<float> logp = {-1.0F, -0.4F, -2.0F, -0.9F, -0.1F, -3.0F},
                           old = {-1.0F, -1.0F, -1.0F, -1.0F, -1.0F, -1.0F},
                           advantages = {1, 1, 1, -1, -1, -1};
  const auto gradient = [&](const char* name, const PolicyLossParams& policy) {
    std::vector<float> d_logp(6);
    actor_loss({.layout = batch.layout(),
                .logp = logp,
                .old_logp = old,
                .advantages = advantages,
                .counts = {.tokens = 6, .sequences = 6}},
               {.loss = &registry.find(name, "k"), .policy = policy}, {.d_logp = d_logp});
    return d_logp;
  };
  const std::vector<float> vanilla = gradient("vanilla", {.clip_ratio_c = 1e9});
  REQUIRE(gradient("gspo", {}) == vanilla);
  // Its range is of log-ratios.
  const std::vector<float> geo =
      gradient("geo_mean", {.clip_ratio_low = -std::log(0.8), .clip_ratio_high = std::log(1.2)});
  for (size_t t = 0; t < 6; ++t) REQUIRE(geo[t] == Approx(vanilla[t]).margin(1e-7));
}

TEST_CASE("what clip_cov draws depends on the seed alone") {
  Fixture f;
  f.params.loss = &f.registry.find("clip_cov", "k");
  f.params.policy.clip_cov_lb = -10.0;
  f.params.policy.clip_cov_ub = 10.0;
  const auto gradient = [&](uint64_t seed) {
    std::vector<float> d_logp(f.logp.size());
    actor_loss({.layout = f.batch.layout(),
                .logp = f.logp,
                .old_logp = f.old_logp,
                .advantages = f.advantages,
                .counts = f.counts,
                .seed = seed},
               f.params, {.d_logp = d_logp});
    return d_logp;
  };
  REQUIRE(gradient(1) == gradient(1));
  bool differs = false;
  for (uint64_t seed = 2; seed < 20; ++seed) differs = differs || gradient(seed) != gradient(1);
  REQUIRE(differs);
}

TEST_CASE("an unknown loss lists what there is") {
  REQUIRE_THROWS_WITH(make_policy_loss_registry().find("vanila", "actor.policy_loss.loss_mode"),
                      Catch::Contains("did you mean vanilla"));
}
