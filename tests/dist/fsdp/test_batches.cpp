// What a token's log-prob and gradient may depend on: its own sequence, never the cut into micro-batches, the
// ranks, its neighbours or what is outside of the mask. Numbers T.. and A.. are those of the list of known
// faults.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.hpp"
#include "core/hf/safetensors_file.hpp"
#include "dist/fsdp/ranks.hpp"
#include "fsdp/flat_unit.hpp"

using namespace verlc;
using namespace verlc::fsdp;
using namespace verlc::fsdp::test;

namespace {

constexpr int32_t kVocab = 112;

Config gradient_config(const std::string& model) {
  Config config;
  config.model = golden(model).string();
  config.beta1 = 0;  // the first moment of an update is then its gradient
  config.weight_decay = 0;
  return config;
}

// The gradient that `backward` leaves on `ranks` ranks, by unit.
Arrays gradient(int ranks, const Config& config, const std::function<void(Rank&)>& backward) {
  const TempFolder folder;
  on_ranks(ranks, config, [&](Rank& rank) {
    backward(rank);
    rank.step(0.0, 0.0);
    rank.engine().save(folder.path(), VERLC_PART_OPTIMIZER);
  });
  Arrays arrays = read_save(folder.path());
  std::erase_if(arrays, [](const auto& entry) { return !entry.first.ends_with(".m"); });
  return arrays;
}

// Loss tokens with given losses in place of -logp, and gradients to match: the arithmetic of T1.
struct GivenLoss {
  const Sequences& own;
  double tokens;
  float outside = 0;  // put into d_logp where the mask is 0

  static verlc_status run(void* context, verlc_micro_batch* micro, verlc_error*) noexcept {
    auto& given = *static_cast<GivenLoss*>(context);
    for (uint64_t s = micro->sequence_begin; s < micro->sequence_begin + micro->sequence_count; ++s) {
      const auto begin = static_cast<uint64_t>(given.own.cu_seqlens[s]),
                 end = static_cast<uint64_t>(given.own.cu_seqlens[s + 1]);
      const double loss = end - begin == 3 ? 1.0 : 0.25;
      for (uint64_t t = begin; t < end; ++t) {
        float& d_logp = micro->d_logp[t - micro->token_begin];
        if (given.own.mask[t] == 0) {
          if (given.outside != 0) d_logp = given.outside;
          continue;
        }
        micro->loss += loss / given.tokens;
        d_logp = static_cast<float>(-loss / given.tokens);
      }
    }
    return VERLC_OK;
  }
};

// 4 x A (2 loss tokens of 1.0) and 4 x B (8 of 0.25), in turn.
Sequences example_of_t1() {
  Sequences all;
  for (int32_t i = 0; i < 8; ++i) {
    std::vector<int32_t> sequence(i % 2 == 0 ? 3 : 9);
    for (size_t t = 0; t < sequence.size(); ++t)
      sequence[t] = (i * 17 + static_cast<int32_t>(t) * 5 + 3) % kVocab;
    all.add(sequence);
  }
  return all;
}

std::vector<float> all_logp(const Config& config, const Sequences& all, uint64_t max_sequences,
                            uint64_t max_tokens) {
  std::vector<float> values;
  on_ranks(1, config, [&](Rank& rank) { values = rank.logp(all.batch(max_sequences, max_tokens)); });
  return values;
}

}  // namespace

TEST_CASE("T1 T4: token-mean is 0.4 and its gradient the same for every cut and number of ranks") {
  const Sequences all = example_of_t1();
  const Config config = gradient_config("llama_llama3");
  Arrays expected;
  for (const int ranks : {1, 2, 4})
    for (const auto& [sequences, tokens] : std::vector<std::pair<uint64_t, uint64_t>>{
             {0, 0}, {8, 0}, {4, 0}, {1, 0}, {0, 12}, {0, 9}, {0, 30}}) {
      INFO(ranks << " ranks, " << sequences << " sequences, " << tokens << " tokens");
      double loss = 0;
      const Arrays got = gradient(ranks, config, [&](Rank& rank) {
        const Sequences own = rank.own(all);
        GivenLoss given{own, all.loss_tokens()};
        const double sum = rank.world().all_reduce_value(
            rank.engine().forward_backward(own.batch(sequences, tokens), false, GivenLoss::run, &given),
            ReduceOp::sum);
        if (rank.rank() == 0) loss = sum;
      });
      CHECK(loss == Approx(0.4).margin(1e-12));
      if (expected.empty()) expected = got;
      CHECK(relative_gap(got, expected) < 1e-6);
    }
}

TEST_CASE("T5: gradients add up over calls and only the optimizer step clears them") {
  const Sequences all = random_sequences(6, kVocab, 12, 9);
  const Config config = gradient_config("qwen3");
  const double tokens = all.loss_tokens();
  const Arrays once = gradient(2, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    rank.sft_backward(own.batch(1), tokens);
  });
  const Arrays thrice = gradient(2, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    for (size_t s = 0; s < 3; ++s) {
      const Sequences one = own.part(s, s + 1);
      rank.sft_backward(one.batch(), tokens);
      rank.logp(own.batch());  // a forward in between changes nothing
    }
  });
  CHECK(thrice == once);
  const Arrays cleared = gradient(2, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    rank.sft_backward(own.batch(), tokens);
    rank.step(0.0, 0.0);
    rank.sft_backward(own.batch(1), tokens);
  });
  CHECK(cleared == once);
  const Arrays zeroed = gradient(2, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    rank.sft_backward(own.batch(), tokens);
    rank.engine().zero_grad();
    rank.sft_backward(own.batch(1), tokens);
  });
  CHECK(zeroed == once);
}

TEST_CASE("A7 A9: ranks run equally many micro-batches, also one without tokens") {
  const Config config = gradient_config("qwen3");
  for (const size_t sequences : {size_t{5}, size_t{1}}) {
    const Sequences all = random_sequences(sequences, kVocab, 12, 10);
    std::vector<size_t> calls(2, 99), tokens(2, 99);
    const Arrays alone =
        gradient(1, config, [&](Rank& rank) { rank.sft_backward(all.batch(), all.loss_tokens()); });
    const Arrays both = gradient(2, config, [&](Rank& rank) {
      const Sequences own = rank.own(all);
      const auto r = static_cast<size_t>(rank.rank());
      tokens[r] = own.tokens.size();
      rank.logp(own.batch(1));
      rank.sft_backward(own.batch(1), all.loss_tokens(), &calls[r]);
    });
    CHECK(calls == std::vector<size_t>(2, sequences == 5 ? 3 : 1));
    CHECK((tokens[0] == 0) == (sequences == 1));
    CHECK(relative_gap(both, alone) < 1e-6);
  }
}

TEST_CASE("a loss gets its arrays as asked for, also where there are no tokens") {
  struct Seen {
    size_t calls = 0, wrong = 0;
    bool wanted = false;
    static verlc_status look(void* context, verlc_micro_batch* micro, verlc_error*) noexcept {
      auto& seen = *static_cast<Seen*>(context);
      ++seen.calls;
      const bool right = micro->logp != nullptr && micro->d_logp != nullptr && micro->value == nullptr &&
                         (micro->entropy != nullptr) == seen.wanted &&
                         (micro->d_entropy != nullptr) == seen.wanted;
      seen.wrong += right ? 0 : 1;
      return VERLC_OK;
    }
  };
  const Sequences all = random_sequences(1, kVocab, 12, 10);
  for (const bool wanted : {false, true}) {
    std::vector<Seen> seen(2);
    on_ranks(2, gradient_config("qwen3"), [&](Rank& rank) {
      Seen& own_seen = seen[static_cast<size_t>(rank.rank())];
      own_seen.wanted = wanted;
      const Sequences own = rank.own(all);
      rank.engine().forward_backward(own.batch(), wanted, Seen::look, &own_seen);
    });
    for (const Seen& each : seen) {
      CHECK(each.calls == 1);
      CHECK(each.wrong == 0);
    }
  }
}

TEST_CASE("an empty step leaves the weights and is no fault") {
  Config config = gradient_config("qwen3");
  config.weight_decay = 0;
  std::string before, after;
  on_ranks(2, config, [&](Rank& rank) {
    const std::string first = export_digest(rank.engine());
    const Sequences nothing;
    rank.sft_backward(nothing.batch(), 1);
    const bool skipped = rank.step(1e-3).out_skipped != 0;
    const std::string second = export_digest(rank.engine());
    if (rank.rank() != 0) return;
    before = first;
    after = skipped ? "skipped" : second;
  });
  CHECK(before == after);
}

TEST_CASE("T13 T14: a sequence's log-probs depend on nothing but itself") {
  const Config config = gradient_config("llama_llama3");
  Sequences all = random_sequences(5, kVocab, 20, 11);
  const std::vector<float> together = all_logp(config, all, 0, 0);
  for (const auto& [sequences, tokens] :
       std::vector<std::pair<uint64_t, uint64_t>>{{1, 0}, {2, 0}, {0, 25}, {0, 1}})
    CHECK(all_logp(config, all, sequences, tokens) == together);
  for (size_t s = 0; s < all.count(); ++s) {
    const std::vector<float> alone = all_logp(config, all.part(s, s + 1), 0, 0);
    CHECK(alone ==
          std::vector<float>(together.begin() + all.cu_seqlens[s], together.begin() + all.cu_seqlens[s + 1]));
  }
  Sequences changed = all;
  for (int32_t t = changed.cu_seqlens[1]; t < changed.cu_seqlens[2]; ++t)
    changed.tokens[static_cast<size_t>(t)] = (changed.tokens[static_cast<size_t>(t)] + 1) % kVocab;
  const std::vector<float> other = all_logp(config, changed, 0, 0);
  CHECK(other != together);
  for (size_t t = 0; t < other.size(); ++t) {
    const bool of_changed =
        t >= static_cast<size_t>(all.cu_seqlens[1]) && t < static_cast<size_t>(all.cu_seqlens[2]);
    if (!of_changed) CHECK(other[t] == together[t]);
  }
}

TEST_CASE("T10: what is outside of the mask reaches nothing") {
  const Config config = gradient_config("qwen3");
  Sequences all = example_of_t1();
  for (size_t s = 0; s < all.count(); ++s)  // a prompt of two tokens and a masked-out last one
    if (s % 2 == 1)
      all.mask[static_cast<size_t>(all.cu_seqlens[s]) + 1] =
          all.mask[static_cast<size_t>(all.cu_seqlens[s + 1]) - 1] = 0;
  const auto run = [&](const Sequences& from, float outside) {
    return gradient(2, config, [&](Rank& rank) {
      const Sequences own = rank.own(from);
      GivenLoss given{own, all.loss_tokens(), outside};
      rank.engine().forward_backward(own.batch(2), false, GivenLoss::run, &given);
    });
  };
  const Arrays clean = run(all, 0);
  CHECK(run(all, std::numeric_limits<float>::quiet_NaN()) == clean);
  CHECK(run(all, 1e30f) == clean);
  // The last token of a sequence is no input of any loss token when it is masked out.
  Sequences changed = all;
  for (size_t s = 1; s < all.count(); s += 2)
    changed.tokens[static_cast<size_t>(all.cu_seqlens[s + 1]) - 1] = 77;
  CHECK(run(changed, 0) == clean);
  const std::vector<float> logp = all_logp(config, all, 0, 0);
  for (size_t t = 0; t < logp.size(); ++t)
    if (all.mask[t] == 0) CHECK(logp[t] == 0.0f);
}

TEST_CASE("T12: temperature divides the logits, sequence by sequence") {
  const std::vector<std::string> models = {"llama_llama3", "qwen3", "mistral", "qwen2"};
  for (const std::string& model : models) {
    INFO(model);
    const hf::SafetensorsFile expected(golden(model) / "expected.safetensors");
    const auto read = [&](const std::string& name, auto zero) {
      std::vector<decltype(zero)> values(static_cast<size_t>(expected.find(name)->size()));
      std::memcpy(values.data(), expected.find(name)->bytes.data(), expected.find(name)->bytes.size());
      return values;
    };
    const std::vector<int32_t> tokens = read("tokens", int32_t{}), bounds = read("cu_seqlens", int32_t{});
    const std::vector<float> cold = read("logprob.t0.7", 0.0f), plain = read("logprob.t1.0", 0.0f);
    Sequences all;
    for (size_t s = 0; s + 1 < bounds.size(); ++s)
      all.add({tokens.begin() + bounds[s], tokens.begin() + bounds[s + 1]}, s == 1 ? 1.0f : 0.7f);
    const std::vector<float> got = all_logp(gradient_config(model), all, 0, 0);
    for (size_t t = 0; t < got.size(); ++t) {
      const bool second = t >= static_cast<size_t>(bounds[1]) && t < static_cast<size_t>(bounds[2]);
      CHECK(got[t] == Approx((second ? plain : cold)[t]).epsilon(1e-4).margin(1e-4));
    }
  }
}

TEST_CASE("a broken batch is refused by name") {
  const Sequences good = example_of_t1();
  const auto view = [](const Sequences& from, auto&& look) {
    plugin::TensorView tokens(from.tokens.data(), {static_cast<int64_t>(from.tokens.size())});
    plugin::TensorView positions(from.positions.data(), {static_cast<int64_t>(from.positions.size())});
    plugin::TensorView bounds(from.cu_seqlens.data(), {static_cast<int64_t>(from.cu_seqlens.size())});
    plugin::TensorView mask(from.mask.data(), {static_cast<int64_t>(from.mask.size())});
    auto batch = plugin::make_struct<verlc_batch>();
    batch.tokens = tokens.get();
    batch.positions = positions.get();
    batch.cu_seqlens = bounds.get();
    batch.loss_mask = mask.get();
    look(batch);
  };
  const auto refused = [&](const Sequences& from, const std::string& word) {
    view(from, [&](const verlc_batch& batch) {
      CHECK_THROWS_WITH(read_batch(batch, kVocab), Catch::Contains(word));
    });
  };
  view(good, [](const verlc_batch& batch) { CHECK_NOTHROW(read_batch(batch, kVocab)); });
  Sequences bad = good;
  bad.tokens[2] = kVocab;
  refused(bad, "token id 112");
  bad = good;
  bad.mask[0] = 1;
  refused(bad, "first token of sequence 0");
  bad = good;
  bad.cu_seqlens[1] = 100;
  refused(bad, "cu_seqlens");
  bad = good;
  bad.positions.pop_back();
  refused(bad, "one length");
}
