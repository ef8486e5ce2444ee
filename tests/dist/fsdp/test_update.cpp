// What an optimizer step does to the weights, and what is exported.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <set>

#include "core/hf/safetensors_file.hpp"
#include "dist/fsdp/ranks.hpp"
#include "fsdp/flat_unit.hpp"

using namespace verlc;
using namespace verlc::fsdp;
using namespace verlc::fsdp::test;

namespace {

Config config_of(const std::string& model) {
  Config config;
  config.model = golden(model).string();
  return config;
}

}  // namespace

TEST_CASE("A25: a step at lr 0 leaves every weight bit for bit, another changes the digest") {
  const Sequences all = random_sequences(4, 112, 12, 3);
  for (const int ranks : {1, 2}) {
    std::vector<std::string> digests;
    Arrays before, after;
    on_ranks(ranks, config_of("qwen3"), [&](Rank& rank) {
      const Sequences own = rank.own(all);
      Arrays first = export_all(rank.engine());
      const std::string zero = export_digest(rank.engine());
      rank.sft_backward(own.batch(), all.loss_tokens());
      rank.step(0.0);
      Arrays second = export_all(rank.engine());
      const std::string one = export_digest(rank.engine());
      rank.sft_backward(own.batch(), all.loss_tokens());
      rank.step(1e-6);
      const std::string two = export_digest(rank.engine());
      if (rank.rank() != 0) return;
      before = std::move(first);
      after = std::move(second);
      digests = {zero, one, two};
    });
    CHECK(before == after);
    REQUIRE(digests.size() == 3);
    CHECK(digests[0] == digests[1]);
    CHECK(digests[1] != digests[2]);
  }
}

TEST_CASE("T20: a tied head is one exported weight whose gradient is the sum of both uses") {
  for (const std::string model : {"llama_llama3", "qwen3", "qwen2", "mistral"}) {
    INFO(model);
    const hf::SafetensorsFile expected(golden(model) / "expected.safetensors");
    std::vector<int32_t> tokens(static_cast<size_t>(expected.find("tokens")->size())),
        bounds(static_cast<size_t>(expected.find("cu_seqlens")->size()));
    std::memcpy(tokens.data(), expected.find("tokens")->bytes.data(), expected.find("tokens")->bytes.size());
    std::memcpy(bounds.data(), expected.find("cu_seqlens")->bytes.data(),
                expected.find("cu_seqlens")->bytes.size());
    Sequences all;
    for (size_t s = 0; s + 1 < bounds.size(); ++s)
      all.add({tokens.begin() + bounds[s], tokens.begin() + bounds[s + 1]});
    Config config = config_of(model);
    config.beta1 = 0;
    const TempFolder folder;
    bool tied = false;
    Arrays weights;
    on_ranks(2, config, [&](Rank& rank) {
      const Sequences own = rank.own(all);
      Arrays exported = export_all(rank.engine());
      rank.sft_backward(own.batch(), all.loss_tokens());
      rank.step(0.0, 0.0);
      rank.engine().save(folder.path(), VERLC_PART_OPTIMIZER);
      if (rank.rank() != 0) return;
      tied = rank.engine().model().config().tied_head;
      weights = std::move(exported);
    });
    CHECK(weights.count("model.embed_tokens.weight") == 1);
    CHECK(weights.count("lm_head.weight") == (tied ? 0 : 1));
    // Every gradient against PyTorch's, cut from the flat arrays of two ranks.
    const Arrays moments = read_save(folder.path());
    const Model plan(read_model_config(golden(model)));
    for (const Unit& unit : plan.units()) {
      const FlatUnit flat(unit, 1, 0);
      size_t i = 0;
      for (const Parameter& parameter : unit.parameters) {
        INFO(parameter.name);
        const hf::TensorView* want = expected.find("grad." + parameter.name);
        REQUIRE(want != nullptr);
        std::vector<float> values(static_cast<size_t>(want->size()));
        std::memcpy(values.data(), want->bytes.data(), want->bytes.size());
        const auto begin = moments.at(unit.name + ".m").begin() + flat.offset(i++);
        const Arrays got{{"", {begin, begin + want->size()}}}, wanted{{"", values}};
        CHECK(relative_gap(wanted, got) < 1e-4);
      }
    }
  }
}

TEST_CASE("T19: weights that were bf16 take steps far below the spacing of bf16") {
  const Sequences all = random_sequences(4, 112, 16, 4);
  Arrays before, after;
  on_ranks(2, config_of("qwen3_bf16_sharded"), [&](Rank& rank) {
    const Sequences own = rank.own(all);
    Arrays first = export_all(rank.engine());
    for (int step = 0; step < 5; ++step) {
      rank.sft_backward(own.batch(), all.loss_tokens());
      rank.step(1e-6);
    }
    Arrays last = export_all(rank.engine());
    if (rank.rank() != 0) return;
    before = std::move(first);
    after = std::move(last);
  });
  size_t large = 0, moved = 0;
  double furthest = 0;
  for (const auto& [name, values] : before)
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) < 0.02f || name.find("embed") != std::string::npos) continue;
      ++large;
      const double change = std::abs(static_cast<double>(after.at(name)[i]) - values[i]);
      moved += change > 0.5e-6 ? 1 : 0;
      furthest = std::max(furthest, change);
    }
  REQUIRE(large > 1000);
  CHECK(static_cast<double>(moved) > 0.9 * static_cast<double>(large));
  CHECK(furthest < 7e-6);
  CHECK(furthest > 4e-6);
}

TEST_CASE("the gradient is clipped at its norm over all ranks") {
  const Sequences all = random_sequences(4, 112, 12, 3);
  for (const int ranks : {1, 2, 4})
    for (const double limit : {0.0, 0.25, 100.0}) {
      Config config = config_of("qwen3");
      config.beta1 = 0;
      const TempFolder folder;
      double told = 0;
      on_ranks(ranks, config, [&](Rank& rank) {
        const Sequences own = rank.own(all);
        rank.sft_backward(own.batch(), all.loss_tokens());
        const double norm = rank.step(0.0, limit).out_grad_norm;
        rank.engine().save(folder.path(), VERLC_PART_OPTIMIZER);
        if (rank.rank() == 0) told = norm;
      });
      double square = 0;
      for (const auto& [name, values] : read_save(folder.path()))
        if (name.ends_with(".m"))
          for (const float value : values) square += static_cast<double>(value) * value;
      REQUIRE(told > 0.5);
      CHECK(std::sqrt(square) == Approx(limit == 0.25 ? 0.25 : told).epsilon(1e-5));
    }
}

TEST_CASE("a gradient that is not finite updates nothing") {
  const Sequences all = random_sequences(2, 112, 12, 3);
  bool skipped = false, next_skipped = true;
  std::string before, after;
  on_ranks(2, config_of("qwen3"), [&](Rank& rank) {
    const Sequences own = rank.own(all);
    const std::string first = export_digest(rank.engine());
    // One rank's infinite loss is every rank's.
    rank.sft_backward(own.batch(), rank.rank() == 0 ? 0.0 : all.loss_tokens());
    const bool one = rank.step(1e-3).out_skipped != 0;
    const std::string second = export_digest(rank.engine());
    rank.sft_backward(own.batch(), all.loss_tokens());
    const bool two = rank.step(1e-3).out_skipped != 0;
    if (rank.rank() != 0) return;
    skipped = one;
    next_skipped = two;
    before = first;
    after = second;
  });
  CHECK(skipped);
  CHECK_FALSE(next_skipped);
  CHECK(before == after);
}

TEST_CASE("an export gives every weight once, whatever the bucket") {
  for (const int ranks : {1, 4}) {
    Arrays small, large;
    on_ranks(ranks, config_of("llama_llama3"), [&](Rank& rank) {
      Arrays one = export_all(rank.engine(), 1);
      // An export that is left half-way does not disturb the next.
      rank.engine().export_begin(1 << 20);
      for (const verlc_named_tensor* named : rank.engine().export_next(2))
        named->tensor->release(named->tensor);
      Arrays two = export_all(rank.engine(), 1 << 30);
      if (rank.rank() != 0) return;
      small = std::move(one);
      large = std::move(two);
    });
    CHECK(small.size() > 10);
    CHECK(small == large);
  }
}

TEST_CASE("random weights are the same for any number of ranks and differ by seed") {
  std::set<std::string> digests;
  for (const uint64_t seed : {1u, 2u})
    for (const int ranks : {1, 2, 4}) {
      Config config = config_of("qwen3");
      config.init = "random";
      config.seed = seed;
      on_ranks(ranks, config, [&](Rank& rank) {
        const std::string digest = export_digest(rank.engine());
        if (rank.rank() == 0) digests.insert(std::to_string(seed) + " " + digest);
      });
    }
  REQUIRE(digests.size() == 2);
  CHECK(digests.begin()->substr(2) != digests.rbegin()->substr(2));
}

TEST_CASE("a model that is not trained refuses gradients") {
  Config config = config_of("qwen3");
  config.trainable = false;
  const Sequences all = random_sequences(2, 112, 12, 3);
  CHECK_NOTHROW(on_ranks(2, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    rank.logp(own.batch());
  }));
  CHECK_THROWS_WITH(on_ranks(1, config, [&](Rank& rank) { rank.sft_backward(all.batch(), 1); }),
                    Catch::Contains("trainable"));
}
