#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "host/comm/transports.hpp"
#include "pipeline/balance.hpp"
#include "pipeline/exchange_samples.hpp"

using namespace verlc;
using namespace verlc::pipeline;

namespace {

constexpr int64_t kBatch = 16, kMini = 8, kSamples = 4;

// Prompts at the places of the first half of each mini-batch, those of the low ranks, answer at length.
std::vector<Sample> make_samples(const std::vector<size_t>& places) {
  std::vector<Sample> samples;
  for (const size_t place : places) {
    RandomStream random(5, Purpose::test, place);
    Prompt prompt{1000 + place, 3 * place, place,
                  std::vector<int32_t>(4 + place % 3, static_cast<int32_t>(place))};
    const auto shared = std::make_shared<const Prompt>(std::move(prompt));
    const bool talks = place % kMini < kMini / 2;
    for (int64_t i = 0; i < kSamples; ++i) {
      Sample sample;
      sample.prompt = shared;
      sample.number = static_cast<uint64_t>(i);
      sample.response.resize((talks ? 60 : 5) + random.below(talks ? 60 : 10));
      for (int32_t& token : sample.response) token = static_cast<int32_t>(random.below(100));
      for (size_t t = 0; t < sample.response.size(); ++t)
        sample.logp.push_back(static_cast<float>(-random.uniform()));
      sample.finish = i % 2 == 0 ? Finish::stop : Finish::length;
      sample.text = "text";
      sample.scored = true;
      sample.score = place == 5 ? 1.0 : static_cast<double>(i % 2);  // place 5 has no signal
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

// What a sample is, without where it is.
std::string content(const Sample& sample) {
  Sample bare = sample;
  bare.text.clear();
  const Sample* pointer = &bare;
  return write_samples({&pointer, 1});
}

struct RankResult {
  std::vector<Sample> samples;
  MetricValues metrics;
  std::string error;
};

class Sums final : public GroupReducer {
 public:
  explicit Sums(ProcessGroup& group) : group_(group) {}
  void sum(std::span<double> values) override { group_.all_reduce(values, ReduceOp::sum); }
  void max(std::span<double> values) override { group_.all_reduce(values, ReduceOp::max); }
  void min(std::span<double> values) override { group_.all_reduce(values, ReduceOp::min); }

 private:
  ProcessGroup& group_;
};

std::vector<RankResult> balance_on(int ranks, const BalanceParams& params) {
  std::vector<std::unique_ptr<Transport>> ends = make_thread_transports(ranks);
  std::vector<RankResult> results(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      RankResult& result = results[static_cast<size_t>(r)];
      try {
        ProcessGroup group(std::move(ends[static_cast<size_t>(r)]));
        const MiniBatches mini(kBatch, kMini);
        result.samples = make_samples(mini.places(r, ranks));
        Metrics metrics;
        balance_samples(result.samples, mini, kBatch, params, group, metrics);
        Sums sums(group);
        result.metrics = metrics.reduce(sums);
      } catch (const Error& error) {
        result.error = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

size_t num_tokens(const std::vector<Sample>& samples, int64_t mini) {
  size_t tokens = 0;
  for (const Sample& sample : samples)
    if (mini < 0 || static_cast<int64_t>(sample.prompt->place) / kMini == mini)
      tokens += sample.prompt->tokens.size() + sample.response.size();
  return tokens;
}

size_t most_tokens(const std::vector<RankResult>& results, int64_t mini) {
  size_t most = 0;
  for (const RankResult& result : results) most = std::max(most, num_tokens(result.samples, mini));
  return most;
}

}  // namespace

TEST_CASE("samples survive their journey") {
  const std::vector<Sample> samples = make_samples({3, 5});
  std::vector<const Sample*> pointers;
  for (const Sample& sample : samples) pointers.push_back(&sample);
  const std::vector<Sample> read = read_samples(write_samples(pointers));
  REQUIRE(read.size() == samples.size());
  for (size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].prompt->tokens == samples[i].prompt->tokens);
    CHECK(read[i].prompt->uid == samples[i].prompt->uid);
    CHECK(read[i].prompt->row == samples[i].prompt->row);
    CHECK(read[i].prompt->place == samples[i].prompt->place);
    CHECK(read[i].number == samples[i].number);
    CHECK(read[i].response == samples[i].response);
    CHECK(read[i].logp == samples[i].logp);
    CHECK(read[i].finish == samples[i].finish);
    CHECK(read[i].score == samples[i].score);
    CHECK(read[i].scored == samples[i].scored);
    CHECK(read[i].text.empty());
  }
  CHECK(read[0].prompt == read[3].prompt);
  CHECK(read_samples("").empty());
}

TEST_CASE("the rank with most tokens gets fewer, and nothing is lost") {
  const int ranks = GENERATE(2, 4);
  BalanceParams params;
  params.skip_idle = GENERATE(false, true);
  params.micro_tokens = GENERATE(0, 300);
  params.work.attention = 1e-3;
  const std::vector<RankResult> balanced = balance_on(ranks, params);
  params.move = false;
  const std::vector<RankResult> before = balance_on(ranks, params);
  std::multiset<std::string> all, expected;
  for (const RankResult& result : balanced) {
    REQUIRE(result.error.empty());
    for (const Sample& sample : result.samples) all.insert(content(sample));
  }
  for (const RankResult& result : before)
    for (const Sample& sample : result.samples) expected.insert(content(sample));
  CHECK(all == expected);
  CHECK(all.size() == kBatch * kSamples);
  for (const int64_t m : {0, 1}) CHECK(most_tokens(balanced, m) < most_tokens(before, m));
  if (!params.skip_idle) {
    // Within a tenth of the mean.
    double sum = 0;
    for (const RankResult& result : balanced) sum += static_cast<double>(num_tokens(result.samples, -1));
    CHECK(static_cast<double>(most_tokens(balanced, -1)) < 1.1 * sum / ranks);
  }
  const MetricValues& values = balanced[0].metrics;
  CHECK(values.at("global_seqlen/max") == static_cast<double>(most_tokens(before, -1)));
  CHECK(values.at("global_seqlen/balanced_max") == static_cast<double>(most_tokens(balanced, -1)));
  CHECK(values.at("balance/work_ratio") < 0.8 * values.at("balance/work_ratio_before"));
  CHECK(values.at("balance/work_ratio") < 1.1);
}

TEST_CASE("prompts stay whole and in their mini-batch, in ascending order of it") {
  const int ranks = GENERATE(1, 2, 4);
  BalanceParams params;
  params.micro_tokens = GENERATE(0, 400);
  params.work.attention = 1e-3;
  std::map<size_t, size_t> rank_of_place;
  const std::vector<RankResult> results = balance_on(ranks, params);
  for (size_t r = 0; r < results.size(); ++r) {
    int64_t mini = 0;
    bool idle = false;
    for (const Sample& sample : results[r].samples) {
      const size_t place = sample.prompt->place;
      CHECK(rank_of_place.emplace(place, r).first->second == r);
      const int64_t own = static_cast<int64_t>(place) / kMini;
      CHECK(own >= mini);
      if (own != mini) idle = false;
      mini = own;
      // What needs no backward comes last.
      if (params.micro_tokens > 0) CHECK((!idle || place == 5));
      idle = place == 5;
    }
  }
  CHECK(rank_of_place.size() == kBatch);
}

TEST_CASE("an even budget needs no more micro-batches") {
  const std::vector<Sample> samples = make_samples({0, 4, 1, 6, 7, 2});
  LocalReducer alone;
  for (const bool share : {false, true}) {
    PackedSamples packed;
    int32_t group = -1;
    for (const Sample& sample : samples) {
      if (packed.uids.empty() || packed.uids.back() != sample.prompt->uid) ++group;
      packed.uids.push_back(sample.prompt->uid);
      const size_t prompt = sample.prompt->tokens.size();
      packed.mask.resize(packed.mask.size() + prompt, 0);
      packed.mask.resize(packed.mask.size() + sample.response.size(), 1);
      packed.bounds.push_back(static_cast<int64_t>(packed.mask.size()));
      packed.cu_seqlens.push_back(static_cast<int32_t>(packed.mask.size()));
      if (share)
        packed.shared_prefix.insert(packed.shared_prefix.end(), {group, static_cast<int32_t>(prompt)});
    }
    const MicroLimits limits = even_limits({0, 700}, packed, alone);
    CHECK(limits.tokens < 700);
    CHECK(limits.tokens > 300);
    CHECK(even_limits({4, 0}, packed, alone).sequences == 4);
    CHECK(even_limits({4, 0}, packed, alone).tokens == 0);
  }
}
