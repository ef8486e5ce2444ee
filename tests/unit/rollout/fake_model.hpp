// A model whose next token is a hash of all tokens before it, with a cache of tokens instead of keys and
// values: a wrong page, copy or position shows as a wrong token.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "rollout/schedule/scheduler.hpp"

namespace verlc::rollout::test {

inline constexpr int32_t kVocab = 50;

inline int32_t hash_tokens(const std::vector<int32_t>& tokens) {
  uint64_t state = 17;
  for (const int32_t token : tokens) state = mix_seed(state, static_cast<uint64_t>(token));
  return static_cast<int32_t>(state % kVocab);
}

/// What a request must give, computed alone. Token 0 stops.
inline std::vector<int32_t> expected_response(const Request& request) {
  std::vector<int32_t> tokens = request.prompt;
  std::vector<int32_t> response;
  while (static_cast<int64_t>(response.size()) < request.sampling.max_new_tokens) {
    response.push_back(hash_tokens(tokens));
    tokens.push_back(response.back());
    if (response.back() == 0) break;
  }
  return response;
}

class FakeEngine {
 public:
  explicit FakeEngine(const SchedulerLimits& limits)
      : limits_(limits),
        scheduler_(limits),
        cache_(static_cast<size_t>(limits.num_pages * limits.page_size), -1) {}

  void submit(const Request& request) {
    auto sequence = std::make_unique<Sequence>();
    sequence->request = request;
    scheduler_.add(std::move(sequence));
  }
  void abort(uint64_t id) {
    if (Sequence* sequence = scheduler_.find(id)) finish(*sequence);
  }

  /// One step; checks the plan against the limits and the cache against the sequences.
  void step() {
    const StepPlan& plan = scheduler_.plan();
    int64_t tokens = 0;
    for (const StepItem& item : plan.items) tokens += item.num_tokens;
    REQUIRE(tokens == plan.num_tokens);
    REQUIRE(tokens <= limits_.max_num_batched_tokens);
    REQUIRE(static_cast<int64_t>(plan.items.size()) <= limits_.max_num_seqs);
    fed_tokens += tokens;
    for (const PageCopy& copy : plan.copies)
      for (int64_t i = 0; i < limits_.page_size; ++i) at(copy.to, i) = at(copy.from, i);
    for (const StepItem& item : plan.items) feed(item);
    scheduler_.for_each([&](Sequence& sequence) {
      for (int64_t p = 0; p < sequence.num_cached; ++p)
        if (at(sequence, p) != sequence.tokens[static_cast<size_t>(p)]) FAIL("the cache holds another token");
    });
    const std::vector<StepItem> items = plan.items;
    for (const StepItem& item : items) sample(item);
  }

  Scheduler& scheduler() { return scheduler_; }
  std::map<uint64_t, std::vector<int32_t>> responses;
  int64_t fed_tokens = 0;

 private:
  int32_t& at(int32_t page, int64_t offset) {
    return cache_[static_cast<size_t>(page * limits_.page_size + offset)];
  }
  int32_t& at(const Sequence& sequence, int64_t position) {
    return at(sequence.table.pages()[static_cast<size_t>(position / limits_.page_size)],
              position % limits_.page_size);
  }
  void feed(const StepItem& item) {
    const Sequence& sequence = *item.sequence;
    REQUIRE(item.num_tokens > 0);
    const int64_t end = item.first_position + item.num_tokens;
    for (int64_t p = item.first_write; p < end; ++p)
      at(sequence, p) = sequence.tokens[static_cast<size_t>(p)];
  }
  void sample(const StepItem& item) {
    Sequence& sequence = *item.sequence;
    const int64_t end = item.first_position + item.num_tokens;
    for (int64_t p = 0; p < end; ++p)
      if (at(sequence, p) != sequence.tokens[static_cast<size_t>(p)]) FAIL("the cache lacks a token");
    scheduler_.advance(item);
    REQUIRE(item.sample == (end == sequence.num_tokens()));
    if (!item.sample) return;
    sequence.tokens.push_back(hash_tokens(sequence.tokens));
    sequence.logp.push_back(0);
    if (sequence.tokens.back() == 0 || sequence.num_sampled() == sequence.request.sampling.max_new_tokens)
      finish(sequence);
  }
  void finish(Sequence& sequence) {
    const std::unique_ptr<Sequence> done = scheduler_.remove(sequence);
    REQUIRE(responses.count(done->request.id) == 0);
    responses[done->request.id] = {done->tokens.begin() + done->num_prompt(), done->tokens.end()};
  }

  SchedulerLimits limits_;
  Scheduler scheduler_;
  std::vector<int32_t> cache_;
};

inline Request make_request(uint64_t id, std::vector<int32_t> prompt, int64_t max_new_tokens,
                            uint64_t prefix = 0) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.prefix = prefix;
  request.sampling.max_new_tokens = max_new_tokens;
  return request;
}

inline std::vector<int32_t> random_prompt(RandomStream& random, int64_t longest) {
  std::vector<int32_t> prompt(1 + random.below(static_cast<uint64_t>(longest)));
  for (int32_t& token : prompt) token = static_cast<int32_t>(random.below(kVocab));
  return prompt;
}

}  // namespace verlc::rollout::test
