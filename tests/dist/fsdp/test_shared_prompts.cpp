// Prompts computed once per group: the same log-probs bit for bit, the same gradients but for the order of
// sums, and fewer tokens.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/base/rng.hpp"
#include "dist/fsdp/ranks.hpp"
#include "fsdp/compact_tokens.hpp"
#include "fsdp/estimate.hpp"

using namespace verlc;
using namespace verlc::fsdp;
using namespace verlc::fsdp::test;

namespace {

constexpr int32_t kVocab = 112;

std::vector<int32_t> random_tokens(RandomStream& random, size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(kVocab));
  return tokens;
}

// A group of `count` sequences with `shared` equal tokens, then 1 to `longest` of their own; only the latter
// are in the mask.
void add_group(Sequences& all, RandomStream& random, size_t count, size_t shared, size_t longest) {
  const auto group = static_cast<int32_t>(all.count());
  const std::vector<int32_t> prompt = random_tokens(random, shared);
  for (size_t i = 0; i < count; ++i) {
    std::vector<int32_t> sequence = prompt;
    const std::vector<int32_t> own = random_tokens(random, 1 + random.below(longest));
    sequence.insert(sequence.end(), own.begin(), own.end());
    const size_t begin = all.tokens.size();
    all.add(sequence, i % 2 == 0 ? 1.0f : 0.7f);
    std::fill_n(all.mask.begin() + static_cast<std::ptrdiff_t>(begin), shared, uint8_t{0});
    all.shared_prefix.insert(all.shared_prefix.end(), {group, static_cast<int32_t>(shared)});
  }
}

// Groups of many sizes and prompt lengths: shorter and longer than a block of keys, one sequence alone, one
// without a group, one with loss tokens in the prompt, one whose sequence is all prompt.
Sequences example() {
  Sequences all;
  RandomStream random(21, Purpose::test);
  add_group(all, random, 4, 9, 20);
  add_group(all, random, 1, 6, 9);
  add_group(all, random, 3, 70, 30);
  all.add(random_tokens(random, 12));
  all.shared_prefix.insert(all.shared_prefix.end(), {-1, 0});
  const size_t first = all.count();
  add_group(all, random, 4, 16, 5);
  for (size_t s = first; s < all.count(); ++s)
    std::fill_n(all.mask.begin() + all.cu_seqlens[s] + 5, 11, uint8_t{1});
  const std::vector<int32_t> prompt(all.tokens.begin() + all.cu_seqlens[first],
                                    all.tokens.begin() + all.cu_seqlens[first] + 16);
  all.add(prompt);
  all.shared_prefix.insert(all.shared_prefix.end(), {static_cast<int32_t>(first), 16});
  add_group(all, random, 2, 33, 3);
  return all;
}

Sequences unshared(Sequences all) {
  all.shared_prefix.clear();
  return all;
}

Config config_of(const std::string& model) {
  Config config;
  config.model = golden(model).string();
  config.beta1 = 0;  // the first moment of an update is then its gradient
  return config;
}

struct Numbers {
  std::vector<float> logp, entropy;
  bool operator==(const Numbers&) const = default;
};

// The log-probs and entropies of `all` on `ranks` ranks, in order.
Numbers forward(int ranks, const Config& config, const Sequences& all, uint64_t max_sequences,
                uint64_t max_tokens) {
  std::vector<Numbers> of_rank(static_cast<size_t>(ranks));
  on_ranks(ranks, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    Numbers& numbers = of_rank[static_cast<size_t>(rank.rank())];
    numbers.logp.assign(own.tokens.size(), -1.0f);
    numbers.entropy = numbers.logp;
    rank.engine().forward_logp(own.batch(max_sequences, max_tokens), numbers.logp.data(),
                               numbers.entropy.data());
  });
  Numbers joined;
  for (const Numbers& numbers : of_rank) {
    joined.logp.insert(joined.logp.end(), numbers.logp.begin(), numbers.logp.end());
    joined.entropy.insert(joined.entropy.end(), numbers.entropy.begin(), numbers.entropy.end());
  }
  return joined;
}

// A loss that weighs every token differently, of log-probs and of entropies.
struct WeighedLoss {
  const Sequences& own;

  static verlc_status run(void* context, verlc_micro_batch* micro, verlc_error*) noexcept {
    const auto& loss = *static_cast<const WeighedLoss*>(context);
    for (uint64_t i = 0; i < micro->token_count; ++i) {
      const uint64_t t = micro->token_begin + i;
      if (loss.own.mask[t] == 0) continue;
      const auto weight = 0.01 * static_cast<double>(loss.own.tokens[t] % 7 - 2);
      micro->loss += weight * micro->logp[i] + 0.001 * micro->entropy[i];
      micro->d_logp[i] = static_cast<float>(weight);
      micro->d_entropy[i] = 0.001f;
    }
    return VERLC_OK;
  }
};

struct Update {
  double loss = 0, norm = 0;
  Arrays gradient, weights;
};

// One step on `all`.
Update update(int ranks, const Config& config, const Sequences& all, uint64_t max_sequences,
              uint64_t max_tokens) {
  const TempFolder folder;
  Update result;
  on_ranks(ranks, config, [&](Rank& rank) {
    const Sequences own = rank.own(all);
    WeighedLoss loss{own};
    const double sum = rank.world().all_reduce_value(
        rank.engine().forward_backward(own.batch(max_sequences, max_tokens), true, WeighedLoss::run, &loss),
        ReduceOp::sum);
    const verlc_optimizer_step step = rank.step(1e-4);
    rank.engine().save(folder.path(), VERLC_PART_PARAM | VERLC_PART_OPTIMIZER);
    if (rank.rank() != 0) return;
    result.loss = sum;
    result.norm = step.out_grad_norm;
  });
  for (auto& [name, values] : read_save(folder.path())) {
    if (name.ends_with(".m")) result.gradient.emplace(name, values);
    if (!name.ends_with(".m") && !name.ends_with(".v")) result.weights.emplace(name, values);
  }
  return result;
}

const std::vector<std::pair<uint64_t, uint64_t>> kCuts = {{0, 0}, {1, 0}, {3, 0}, {0, 40}, {0, 130}};

}  // namespace

TEST_CASE("shared prompts: log-probs and entropies are the same bits") {
  const Sequences all = example(), plain = unshared(all);
  for (const std::string model :
       {"llama_llama3", "qwen3", "mistral", "qwen2", "llama_yarn", "llama_dynamic"}) {
    const Numbers expected = forward(1, config_of(model), plain, 0, 0);
    CHECK(std::any_of(expected.logp.begin(), expected.logp.end(), [](float v) { return v < 0; }));
    for (const int ranks : {1, 2})
      for (const auto& [sequences, tokens] : kCuts) {
        INFO(model << ", " << ranks << " ranks, " << sequences << " sequences, " << tokens << " tokens");
        CHECK(forward(ranks, config_of(model), all, sequences, tokens) == expected);
      }
  }
}

TEST_CASE("shared prompts: gradients and weights but for the order of sums") {
  const Sequences all = example(), plain = unshared(all);
  for (const std::string model : {"llama_llama3", "qwen3", "mistral"}) {
    Config config = config_of(model);
    const Update expected = update(1, config, plain, 0, 0);
    for (const int ranks : {1, 2})
      for (const auto& [sequences, tokens] : kCuts)
        for (const bool variant : {false, true}) {
          INFO(model << ", " << ranks << " ranks, " << sequences << " sequences, " << tokens << " tokens, "
                     << variant);
          config.gradient_checkpointing = variant;
          config.sharding = variant ? Sharding::grad_op : Sharding::full;
          const Update got = update(ranks, config, all, sequences, tokens);
          CHECK(got.loss == Approx(expected.loss).epsilon(1e-9));
          CHECK(got.norm == Approx(expected.norm).epsilon(1e-6));
          CHECK(relative_gap(got.gradient, expected.gradient) < 1e-6);
          CHECK(relative_gap(got.weights, expected.weights) < 1e-6);
        }
  }
}

TEST_CASE("shared prompts: what is computed") {
  Sequences all;
  RandomStream random(5, Purpose::test);
  add_group(all, random, 3, 10, 6);
  add_group(all, random, 2, 4, 6);
  const Batch batch = all.batch();
  const std::vector<Extent> extents = extents_of(batch);
  const std::vector<MicroBatch> parts = cut(batch.cu_seqlens, extents, 0, 0);
  REQUIRE(parts.size() == 1);
  const CompactTokens compact_tokens = compact(batch, extents, parts[0]);
  // Each prompt once, each response without its last token, which predicts nothing.
  const size_t own = all.tokens.size() - 3 * 10 - 2 * 4 - all.count();
  CHECK(compact_tokens.tokens.size() == 10 + 4 + own);
  CHECK(compact_tokens.positions.size() == compact_tokens.tokens.size());
  CHECK(compact_tokens.segments.cu_seqlens.back() == static_cast<int32_t>(compact_tokens.tokens.size()));
  // Logits only at the rows of the responses.
  CHECK(compact_tokens.rows.rows.size() == static_cast<size_t>(all.loss_tokens()));
  for (size_t r = 0; r < compact_tokens.rows.rows.size(); ++r) {
    const auto row = static_cast<size_t>(compact_tokens.rows.rows[r]),
               token = static_cast<size_t>(compact_tokens.rows.tokens[r]);
    CHECK(compact_tokens.tokens[row] == all.tokens[token - 1]);
    CHECK(compact_tokens.positions[row] == all.positions[token - 1]);
    CHECK(compact_tokens.rows.targets[r] == all.tokens[token]);
  }
  // Without the hint every token of every sequence.
  const Sequences plain = unshared(all);
  const std::vector<Extent> whole = extents_of(plain.batch());
  const CompactTokens plain_tokens = compact(plain.batch(), whole, parts[0]);
  CHECK(plain_tokens.tokens == all.tokens);
  CHECK(plain_tokens.segments.cu_seqlens == all.cu_seqlens);
  CHECK(plain_tokens.rows.tokens == compact_tokens.rows.tokens);
}

TEST_CASE("shared prompts: the token budget counts what is computed") {
  const auto sizes = [](const std::vector<Extent>& extents, uint64_t max_sequences, uint64_t max_tokens) {
    std::vector<int32_t> bounds = {0};
    for (const Extent& extent : extents) bounds.push_back(bounds.back() + extent.length);
    std::vector<size_t> counts;
    for (const MicroBatch& part : cut(bounds, extents, max_sequences, max_tokens))
      counts.push_back(part.sequence_end - part.sequence_begin);
    return counts;
  };
  using Counts = std::vector<size_t>;
  const std::vector<Extent> plain(4, Extent{-1, 0, 10});
  CHECK(sizes(plain, 0, 20) == Counts{2, 2});
  CHECK(sizes(plain, 0, 9) == Counts{1, 1, 1, 1});
  CHECK(sizes(plain, 3, 0) == Counts{3, 1});
  CHECK(sizes(plain, 0, 0) == Counts{4});
  const std::vector<Extent> group(4, Extent{7, 8, 10});  // 8 + 4 * 2 computed
  CHECK(sizes(group, 0, 16) == Counts{4});
  CHECK(sizes(group, 0, 15) == Counts{3, 1});
  CHECK(sizes(group, 0, 10) == Counts{1, 1, 1, 1});
  CHECK(sizes(group, 2, 16) == Counts{2, 2});
  // A group that fits alone is not cut by the budget.
  std::vector<Extent> two = group;
  two.insert(two.end(), 3, Extent{8, 8, 10});
  CHECK(sizes(two, 0, 20) == Counts{4, 3});
  CHECK(sizes(two, 0, 30) == Counts{7});
  CHECK(sizes(two, 0, 13) == Counts{2, 2, 2, 1});
  CHECK(sizes({}, 0, 13).empty());
}

TEST_CASE("the estimate counts shared tokens once") {
  const auto activation = [](int64_t tokens, int64_t shared) {
    const hf::Json workload = {{"tokens", tokens}, {"shared", shared}, {"rows", 64}};
    const hf::Json json =
        hf::parse_json_text(estimate(config_of("qwen3"), workload.dump()), "estimate")["phases"];
    return json["forward_backward"]["activation"].get<int64_t>();
  };
  CHECK(activation(1000, 0) > activation(600, 0));
  CHECK(activation(1000, 400) == activation(600, 0));
  CHECK(activation(1000, 2000) == activation(0, 0));
}

TEST_CASE("a shared prefix that is none is refused by name") {
  const Sequences good = example();
  const auto read = [](const Sequences& from, const std::vector<int64_t>& shape) {
    plugin::TensorView tokens(from.tokens.data(), {static_cast<int64_t>(from.tokens.size())});
    plugin::TensorView positions(from.positions.data(), {static_cast<int64_t>(from.positions.size())});
    plugin::TensorView bounds(from.cu_seqlens.data(), {static_cast<int64_t>(from.cu_seqlens.size())});
    plugin::TensorView mask(from.mask.data(), {static_cast<int64_t>(from.mask.size())});
    const plugin::NamedTensor hint(
        shape.empty() ? "patches" : "shared_prefix",
        plugin::ManagedTensor(plugin::make_managed_tensor(
            from.shared_prefix.data(), plugin::kI32,
            shape.empty() ? std::vector<int64_t>{static_cast<int64_t>(from.count()), 2} : shape)));
    const verlc_named_tensor* extra = hint.get();
    auto batch = plugin::make_struct<verlc_batch>();
    batch.tokens = tokens.get();
    batch.positions = positions.get();
    batch.cu_seqlens = bounds.get();
    batch.loss_mask = mask.get();
    batch.extra = &extra;
    batch.num_extra = 1;
    return read_batch(batch, kVocab);
  };
  const auto count = static_cast<int64_t>(good.count());
  CHECK_NOTHROW(read(good, {count, 2}));
  const auto refused = [&](const Sequences& from, const std::string& words) {
    CHECK_THROWS_WITH(read(from, {count, 2}), Catch::Contains(words));
  };
  CHECK_THROWS_WITH(read(good, {}), Catch::Contains("no extra input \"patches\""));
  CHECK_THROWS_WITH(read(good, {count - 1, 2}), Catch::Contains("shared_prefix must have"));
  Sequences bad = good;
  bad.tokens[static_cast<size_t>(bad.cu_seqlens[2]) + 3] ^= 1;
  refused(bad, "shared_prefix: sequences 1 and 2 of group 0 differ at their token 3");
  bad = good;
  bad.positions[static_cast<size_t>(bad.cu_seqlens[1]) + 8] = 9;
  refused(bad, "sequences 0 and 1 of group 0 differ at their token 8");
  bad = good;
  bad.shared_prefix[3] = 8;
  refused(bad, "tell of 9 and 8 shared tokens");
  bad = good;
  bad.shared_prefix[1] = 1000;
  refused(bad, "sequence 0 has group 0 and 1000 shared tokens of");
  bad = good;
  bad.shared_prefix[1] = -1;
  refused(bad, "sequence 0 has group 0");
  bad = good;
  bad.shared_prefix[0] = -2;
  refused(bad, "sequence 0 has group -2");
}
