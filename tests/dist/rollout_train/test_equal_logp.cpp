// What the rollout engine sampled, the training engine scores with the same bits: both as shared objects,
// through their C tables, with the weights sent by the pipeline's own update.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/rng.hpp"
#include "core/base/weights_digest.hpp"
#include "core/kernels/cpu/target.hpp"
#include "core/memory/heap_allocator.hpp"
#include "core/models/model_config.hpp"
#include "core/nn/rotary_table.hpp"
#include "pipeline/engines.hpp"
#include "pipeline/packed_samples.hpp"
#include "pipeline/rollout_stage.hpp"

using namespace verlc;
using namespace verlc::pipeline;
using Json = nlohmann::json;

namespace {

const std::filesystem::path kSource = VERLC_SOURCE_DIR;

std::string golden(const std::string& name) {
  return (kSource / "tests/data/golden" / name).string();
}

SessionOptions with_threads(int threads) {
  SessionOptions options;
  options.join.threads_per_rank = threads;
  return options;
}

// Trainer and generator of one model with random weights.
struct Pair {
  Session session;
  TextCodec codec;
  std::unique_ptr<TrainEngine> trainer;
  RolloutStage rollout;
  int64_t vocab;

  Pair(const std::string& model, int threads, const Json& change, const std::string& init = "random",
       const std::string& dtype = "float32", bool pack_weights = true)
      : session(with_threads(threads)),
        codec((kSource / "recipes/models/arith-tiny").string(),
              (kSource / "recipes/models/arith-tiny").string(), false, {}, {}),
        trainer(make_train_engine(session, "fsdp",
                                  Json{{"model", model},
                                       {"init", init},
                                       {"seed", 3},
                                       {"dtype", dtype},
                                       {"pack_weights", pack_weights}}
                                      .dump())),
        rollout(make_rollout_engine(session, "rollout", config(model, change, dtype).dump()), codec,
                session.threads(), dtype),
        vocab(read_model_config(model).vocab) {}

  static Json config(const std::string& model, const Json& change, const std::string& dtype) {
    Json config = {{"model", model},
                   {"load_format", "none"},
                   {"max_num_seqs", 32},
                   {"max_model_len", 64},
                   {"dtype", dtype}};
    config.update(change);
    return config;
  }

  // `n` samples of prompts of 1 to 30 tokens.
  std::vector<Sample> generate(size_t prompts, int64_t n, double temperature) {
    std::vector<std::shared_ptr<const Prompt>> drawn;
    RandomStream random(11, Purpose::test);
    for (size_t p = 0; p < prompts; ++p) {
      Prompt prompt{p + 1, p, p, std::vector<int32_t>(1 + random.below(30))};
      for (int32_t& token : prompt.tokens)
        token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
      drawn.push_back(std::make_shared<const Prompt>(std::move(prompt)));
    }
    GenerationPlan plan;
    plan.samples_per_prompt = n;
    plan.sampling.temperature = temperature;
    plan.sampling.max_new_tokens = 24;
    plan.seed = 5;
    std::vector<Sample> samples = rollout.generate(drawn, plan);
    for (Sample& sample : samples) sample.scored = true;
    return samples;
  }

  // Loss tokens whose log-probs differ in any bit from the trainer's, with prompts shared and not; `compared`
  // counts them all.
  size_t differences(const std::vector<Sample>& samples, double temperature, uint64_t micro_sequences,
                     uint64_t micro_tokens, size_t* compared) {
    size_t different = 0;
    for (const bool share : {true, false}) {
      const PackedSamples packed = pack_samples(samples, temperature, share);
      std::vector<float> logp(packed.num_tokens());
      trainer->forward_logp(packed.batch(micro_sequences, micro_tokens), logp);
      for (size_t t = 0; t < logp.size(); ++t) {
        if (packed.mask[t] == 0) continue;
        ++*compared;
        different += std::memcmp(&logp[t], &packed.old_logp[t], sizeof(float)) != 0 ? 1 : 0;
      }
    }
    return different;
  }

  // A step that raises the log-probs of `samples`.
  void learn(const std::vector<Sample>& samples) {
    const PackedSamples packed = pack_samples(samples, 1.0);
    trainer->forward_backward(packed.batch(4, 0), false, [&](verlc_micro_batch& micro) {
      for (uint64_t t = 0; t < micro.token_count; ++t)
        if (packed.mask[micro.token_begin + t] != 0) micro.d_logp[t] = -0.01f;
    });
    trainer->optimizer_step(1e-2, 1.0);
  }
};

}  // namespace

TEST_CASE("sampled log-probs equal forward_logp bit for bit, before and after updates") {
  const std::vector<Json> changes = {{{"block_size", 16}},
                                     {{"block_size", 64}, {"enable_prefix_caching", false}},
                                     {{"max_num_batched_tokens", 9}, {"max_num_seqs", 5}},
                                     {{"enable_chunked_prefill", false}, {"max_num_batched_tokens", 64}}};
  for (const std::string name : {"llama_llama3", "qwen3", "qwen2", "mistral"}) {
    std::vector<std::vector<int32_t>> expected;
    for (const int threads : {1, 2})
      for (size_t i = 0; i < changes.size(); i += static_cast<size_t>(threads)) {
        const Json& change = changes[i];
        CAPTURE(name, threads, change.dump());
        Pair pair(golden(name), threads, change);
        CHECK_THROWS(pair.generate(1, 1, 1.0));  // no weights yet
        std::set<std::string> digests;
        std::vector<std::vector<int32_t>> tokens;
        for (uint64_t version = 1; version <= 3; ++version) {
          digests.insert(pair.rollout.update_weights(*pair.trainer, version, version == 1 ? 1 : 1 << 20));
          const double temperature = version == 2 ? 0.7 : 1.0;
          const std::vector<Sample> samples = pair.generate(5, 4, temperature);
          for (const Sample& sample : samples) tokens.push_back(sample.response);
          size_t compared = 0;
          CHECK(pair.differences(samples, temperature, 0, 0, &compared) == 0);
          CHECK(pair.differences(samples, temperature, 3, 0, &compared) == 0);
          CHECK(pair.differences(samples, temperature, 0, 70, &compared) == 0);
          CHECK(compared > 600);
          pair.learn(samples);
          // The trainer has moved on, the rollout has not: now they differ.
          CHECK(pair.differences(samples, temperature, 0, 0, &compared) > 0);
        }
        CHECK(digests.size() == 3);
        if (expected.empty()) expected = tokens;
        CHECK(tokens == expected);
      }
  }
}

// ctest runs this case on every CPU target, through VERLC_CPU_TARGET: the engines read it each for itself.
TEST_CASE("every dtype keeps rollout and trainer equal bit for bit", "[dtype]") {
  const std::vector<std::string> targets = kernels::cpu_targets();
  if (const char* wanted = std::getenv("VERLC_CPU_TARGET");
      wanted != nullptr && std::find(targets.begin(), targets.end(), wanted) == targets.end()) {
    WARN("skipped: this CPU does not run the target " << wanted);
    return;
  }
  std::vector<std::vector<float>> first_logp;
  for (const std::string dtype : {"float32", "bfloat16_weights", "bfloat16"}) {
    for (const std::string name : {"llama_llama3", "qwen2"}) {
      for (const int threads : {1, 2}) {
        CAPTURE(dtype, name, threads);
        Pair pair(golden(name), threads, {{"max_num_batched_tokens", 9}, {"max_num_seqs", 5}}, "random",
                  dtype);
        for (uint64_t version = 1; version <= 2; ++version) {
          pair.rollout.update_weights(*pair.trainer, version, 1 << 16);
          const std::vector<Sample> samples = pair.generate(5, 3, 1.0);
          size_t compared = 0;
          CHECK(pair.differences(samples, 1.0, 3, 0, &compared) == 0);
          CHECK(pair.differences(samples, 1.0, 0, 70, &compared) == 0);
          CHECK(compared > 300);
          if (version == 1 && threads == 1) first_logp.push_back(samples.front().logp);
          pair.learn(samples);
        }
      }
    }
  }
  // The dtypes do differ from each other.
  CHECK(first_logp[0] != first_logp[2]);
  CHECK(first_logp[2] != first_logp[4]);
}

TEST_CASE("packed weights change no bit of log-probs or of a step") {
  Pair packed(golden("qwen3"), 2, Json::object(), "random", "float32", true);
  Pair plain(golden("qwen3"), 2, Json::object(), "random", "float32", false);
  for (uint64_t version = 1; version <= 3; ++version) {
    CHECK(packed.rollout.update_weights(*packed.trainer, version, 1 << 20) ==
          plain.rollout.update_weights(*plain.trainer, version, 1 << 20));
    const std::vector<Sample> samples = packed.generate(4, 3, 1.0);
    size_t compared = 0;
    CHECK(plain.differences(samples, 1.0, 0, 0, &compared) == 0);
    packed.learn(samples);
    plain.learn(samples);
  }
}

TEST_CASE("weights that were bf16 and the rollout asleep in between change nothing") {
  Pair pair(golden("qwen3_bf16_sharded"), 2, Json::object(), "checkpoint");
  for (uint64_t version = 1; version <= 2; ++version) {
    pair.rollout.update_weights(*pair.trainer, version, 1 << 16);
    const std::vector<Sample> samples = pair.generate(4, 3, 1.0);
    size_t compared = 0;
    CHECK(pair.differences(samples, 1.0, 2, 0, &compared) == 0);
    CHECK(compared > 200);
    pair.learn(samples);
    pair.rollout.sleep();
    CHECK(pair.rollout.state() == RolloutState::asleep);
    CHECK_THROWS_WITH(pair.generate(1, 1, 1.0), Catch::Contains("asleep"));
  }
}

TEST_CASE("the digest that an update gives is that of the trainer's export") {
  Pair pair(golden("qwen3"), 1, Json::object());
  const std::string held = pair.rollout.update_weights(*pair.trainer, 1, 1 << 20);
  WeightsDigest digest;
  pair.trainer->export_weights(1, [&](std::span<const verlc_named_tensor* const> bucket) {
    for (const verlc_named_tensor* named : bucket) {
      const verlc_tensor& tensor = named->tensor->tensor;
      digest.add(plugin::to_view(named->name), plugin::element_name(plugin::element_type(tensor)),
                 plugin::shape_of(tensor), plugin::raw_data(tensor), plugin::num_bytes(tensor));
    }
  });
  CHECK(held == digest.hex());
  // lr = 0 changes neither.
  pair.learn(pair.generate(2, 2, 1.0));
  const std::string moved = pair.rollout.update_weights(*pair.trainer, 2, 1 << 20);
  CHECK(moved != held);
  const std::vector<Sample> samples = pair.generate(2, 2, 1.0);
  const PackedSamples packed = pack_samples(samples, 1.0);
  pair.trainer->forward_backward(packed.batch(0, 0), false, [](verlc_micro_batch& micro) {
    for (uint64_t t = 1; t < micro.token_count; ++t) micro.d_logp[t] = 1.0f;
  });
  pair.trainer->optimizer_step(0.0, 1.0);
  CHECK(pair.rollout.update_weights(*pair.trainer, 3, 1 << 20) == moved);
}

TEST_CASE("T21: both sides resolve the rotary frequencies from one struct") {
  HeapAllocator memory;
  std::set<std::string> digests;
  for (const std::string name :
       {"llama_llama3", "llama_linear", "llama_yarn", "llama_dynamic", "qwen3", "qwen2"}) {
    const ModelConfig one = read_model_config(golden(name)), two = read_model_config(golden(name));
    const RotaryTable trainer(memory, one.rope, one.head_dim);
    RotaryTable generator(memory, two.rope, two.head_dim);
    CHECK(trainer.digest() == generator.digest());
    const std::vector<int32_t> positions = {0, 1, 2, 90}, bounds = {0, 3, 4};
    generator.rows(positions, bounds);
    CHECK(trainer.digest() == generator.digest());  // growing changes nothing
    RopeConfig other = one.rope;
    other.theta *= 2;
    digests.insert(trainer.digest());
    digests.insert(RotaryTable(memory, other, one.head_dim).digest());
  }
  CHECK(digests.size() > 8);
}

TEST_CASE("samples of a prompt are told to the trainer, through slices and selections") {
  Pair pair(golden("qwen3"), 1, Json::object());
  pair.rollout.update_weights(*pair.trainer, 1, 1 << 20);
  const std::vector<Sample> samples = pair.generate(3, 2, 1.0);
  const PackedSamples packed = pack_samples(samples, 1.0);
  const auto length = [&](size_t s) { return static_cast<int32_t>(samples[s].prompt->tokens.size()); };
  CHECK(packed.shared_prefix == std::vector<int32_t>{0, length(0), 0, length(1), 1, length(2), 1, length(3),
                                                     2, length(4), 2, length(5)});
  CHECK(slice(packed, 1, 3).shared_prefix == std::vector<int32_t>{0, length(1), 1, length(2)});
  const std::vector<uint8_t> keep = {0, 0, 1, 1, 0, 1};
  const PackedSamples kept = select(packed, keep);
  CHECK(kept.shared_prefix == std::vector<int32_t>{1, length(2), 1, length(3), 2, length(5)});
  CHECK(kept.uids == std::vector<uint64_t>{2, 2, 3});
  CHECK(kept.cu_seqlens.back() == static_cast<int32_t>(kept.tokens.size()));
  CHECK(pack_samples(samples, 1.0, false).shared_prefix.empty());
  // It arrives: one that is wrong is refused.
  std::vector<int32_t> wrong = packed.shared_prefix;
  wrong[3] += 1;
  PackedBatch batch = packed.batch(0, 0);
  batch.shared_prefix = wrong;
  std::vector<float> logp(packed.num_tokens());
  CHECK_THROWS_WITH(pair.trainer->forward_logp(batch, logp), Catch::Contains("shared_prefix"));
}
