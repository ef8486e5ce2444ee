#include "unit/rollout/fake_model.hpp"

#include "core/base/error.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

void run_to_end(FakeEngine& engine) {
  for (int step = 0; !engine.scheduler().empty(); ++step) {
    REQUIRE(step < 100000);
    engine.step();
  }
}

}  // namespace

TEST_CASE("pages that do not hold one sequence are refused with the arithmetic (A6)") {
  try {
    Scheduler scheduler({.num_pages = 3,
                         .page_size = 16,
                         .max_num_seqs = 4,
                         .max_num_batched_tokens = 64,
                         .max_model_len = 49});
    FAIL("must be refused");
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::input);
    const std::string line = error.what();
    REQUIRE(line.find("3 pages of 16 positions = 48 tokens") != std::string::npos);
    REQUIRE(line.find("max_model_len = 49 needs 4 pages") != std::string::npos);
  }
  REQUIRE_NOTHROW(Scheduler({.num_pages = 4,
                             .page_size = 16,
                             .max_num_seqs = 4,
                             .max_num_batched_tokens = 64,
                             .max_model_len = 49}));
}

TEST_CASE("without chunked prefill a step must hold a whole sequence") {
  REQUIRE_THROWS_AS(Scheduler({.num_pages = 9,
                               .page_size = 16,
                               .max_num_seqs = 4,
                               .max_num_batched_tokens = 64,
                               .max_model_len = 65,
                               .chunked_prefill = false}),
                    Error);
}

TEST_CASE("a prompt is fed once per group, whatever its length in pages") {
  for (const int64_t length : {15, 16, 17, 32, 33}) {
    for (const int64_t chunk : {7, 16, 200}) {
      CAPTURE(length, chunk);
      FakeEngine engine({.num_pages = 64,
                         .page_size = 16,
                         .max_num_seqs = 8,
                         .max_num_batched_tokens = chunk,
                         .max_model_len = 128});
      RandomStream random(3, Purpose::test);
      std::vector<int32_t> prompt(static_cast<size_t>(length));
      for (int32_t& token : prompt) token = static_cast<int32_t>(random.below(kVocab));
      std::vector<Request> requests;
      for (uint64_t id = 0; id < 8; ++id) requests.push_back(make_request(id, prompt, 1, 99));
      for (const Request& request : requests) engine.submit(request);
      run_to_end(engine);
      REQUIRE(engine.fed_tokens == length + 7);
      for (const Request& request : requests)
        REQUIRE(engine.responses[request.id] == expected_response(request));
      REQUIRE(engine.scheduler().pool().num_free() == 64);
    }
  }
}

TEST_CASE("equal prefix values with unequal prompts share nothing") {
  FakeEngine engine({.num_pages = 16,
                     .page_size = 16,
                     .max_num_seqs = 8,
                     .max_num_batched_tokens = 64,
                     .max_model_len = 64});
  const Request a = make_request(1, {1, 2, 3}, 5, 7);
  const Request b = make_request(2, {1, 2, 4}, 5, 7);
  engine.submit(a);
  engine.submit(b);
  run_to_end(engine);
  REQUIRE(engine.responses[1] == expected_response(a));
  REQUIRE(engine.responses[2] == expected_response(b));
}

TEST_CASE("a group served one by one still feeds its prompt once") {
  FakeEngine engine({.num_pages = 16,
                     .page_size = 16,
                     .max_num_seqs = 1,
                     .max_num_batched_tokens = 64,
                     .max_model_len = 64});
  for (uint64_t id = 0; id < 5; ++id) engine.submit(make_request(id, std::vector<int32_t>(40, 3), 1, 7));
  run_to_end(engine);
  REQUIRE(engine.fed_tokens == 40 + 4);
}

TEST_CASE("larger priority first, then the order of submission") {
  FakeEngine engine({.num_pages = 16,
                     .page_size = 16,
                     .max_num_seqs = 1,
                     .max_num_batched_tokens = 64,
                     .max_model_len = 64});
  std::vector<uint64_t> finished;
  for (const auto& [id, priority] :
       std::vector<std::pair<uint64_t, int64_t>>{{1, 0}, {2, 5}, {3, 0}, {4, 5}}) {
    Request request = make_request(id, {1}, 1);
    request.priority = priority;
    engine.submit(request);
  }
  while (!engine.scheduler().empty()) {
    engine.step();
    for (const auto& [id, response] : engine.responses)
      if (std::find(finished.begin(), finished.end(), id) == finished.end()) finished.push_back(id);
  }
  REQUIRE(finished == std::vector<uint64_t>{2, 4, 1, 3});
}

TEST_CASE("hints of length keep the batch full to the end") {
  // Sequences of one token to many, the longest submitted last.
  std::vector<Request> requests;
  for (uint64_t id = 0; id < 40; ++id)
    requests.push_back(make_request(id, {static_cast<int32_t>(id), 7}, id < 36 ? 4 : 40));
  int64_t total = 0, longest = 0;
  for (const Request& request : requests) {
    const auto length = static_cast<int64_t>(expected_response(request).size());
    total += length;
    longest = std::max(longest, length);
  }
  constexpr int64_t kAtOnce = 8;
  int64_t steps[2] = {0, 0};
  for (const bool hinted : {false, true}) {
    FakeEngine engine({.num_pages = 64,
                       .page_size = 16,
                       .max_num_seqs = kAtOnce,
                       .max_num_batched_tokens = 64,
                       .max_model_len = 64});
    for (Request request : requests) {
      if (hinted) request.priority = static_cast<int64_t>(expected_response(request).size());
      engine.submit(request);
    }
    for (; !engine.scheduler().empty(); ++steps[hinted ? 1 : 0]) engine.step();
    for (const Request& request : requests)
      REQUIRE(engine.responses[request.id] == expected_response(request));
  }
  REQUIRE(longest > 20);
  REQUIRE(steps[1] < steps[0]);
  // Longest first is within a third of any order's least.
  REQUIRE(3 * steps[1] <= 4 * std::max(longest, (total + kAtOnce - 1) / kAtOnce) + 3);
}

TEST_CASE("decode and prefill share a step") {
  FakeEngine engine({.num_pages = 64,
                     .page_size = 16,
                     .max_num_seqs = 8,
                     .max_num_batched_tokens = 20,
                     .max_model_len = 128});
  engine.submit(make_request(1, {1, 2, 3}, 50));
  engine.step();
  engine.submit(make_request(2, std::vector<int32_t>(60, 4), 5));
  const StepPlan& plan = engine.scheduler().plan();
  REQUIRE(plan.items.size() == 2);
  REQUIRE(plan.items[0].num_tokens == 1);
  REQUIRE(plan.items[0].sample);
  REQUIRE(plan.items[1].num_tokens == 19);
  REQUIRE_FALSE(plan.items[1].sample);
}

TEST_CASE("preemption leaves results as they are") {
  FakeEngine engine({.num_pages = 8,
                     .page_size = 16,
                     .max_num_seqs = 16,
                     .max_num_batched_tokens = 64,
                     .max_model_len = 128});
  std::vector<Request> requests;
  RandomStream random(5, Purpose::test);
  for (uint64_t id = 0; id < 16; ++id)
    requests.push_back(make_request(id, random_prompt(random, 30), 90, id / 4));
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i % 4 > 0 && requests[i].prefix != 0) requests[i].prompt = requests[i - 1].prompt;
    engine.submit(requests[i]);
  }
  run_to_end(engine);
  REQUIRE(engine.scheduler().num_preemptions() > 0);
  for (const Request& request : requests) REQUIRE(engine.responses[request.id] == expected_response(request));
  REQUIRE(engine.scheduler().pool().num_free() == 8);
}

TEST_CASE("the cache is emptied when all are sent back (weights change)") {
  FakeEngine engine({.num_pages = 32,
                     .page_size = 16,
                     .max_num_seqs = 4,
                     .max_num_batched_tokens = 64,
                     .max_model_len = 128});
  for (uint64_t id = 0; id < 8; ++id) engine.submit(make_request(id, std::vector<int32_t>(20, 3), 60, 1));
  for (int i = 0; i < 5; ++i) engine.step();
  engine.scheduler().preempt_all();
  REQUIRE(engine.scheduler().num_running() == 0);
  REQUIRE(engine.scheduler().pool().num_free() == 32);
  run_to_end(engine);
  REQUIRE(engine.responses.size() == 8);
}

TEST_CASE("random submits, aborts and finishes: right tokens, limits kept, no page lost") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, Purpose::test, 1);
    const int64_t page_size = 16 * (1 + static_cast<int64_t>(random.below(2)));
    SchedulerLimits limits{.num_pages = 96 / page_size + static_cast<int64_t>(random.below(12)),
                           .page_size = page_size,
                           .max_num_seqs = 1 + static_cast<int64_t>(random.below(10)),
                           .max_num_batched_tokens = 1 + static_cast<int64_t>(random.below(60)),
                           .max_model_len = 96,
                           .chunked_prefill = random.below(4) != 0,
                           .share_prompts = random.below(5) != 0};
    if (!limits.chunked_prefill) limits.max_num_batched_tokens += 96;
    FakeEngine engine(limits);
    std::map<uint64_t, Request> requests;
    std::vector<uint64_t> aborted;
    uint64_t next_id = 1;
    std::vector<std::vector<int32_t>> prompts;
    for (int i = 0; i < 4; ++i) prompts.push_back(random_prompt(random, 50));
    for (int step = 0; step < 150; ++step) {
      while (random.below(4) == 0) {
        const uint64_t group = random.below(5);
        Request request = make_request(next_id++, group == 0 ? random_prompt(random, 50) : prompts[group - 1],
                                       1 + static_cast<int64_t>(random.below(46)), group);
        request.priority = static_cast<int64_t>(random.below(2));
        requests[request.id] = request;
        engine.submit(request);
      }
      if (random.below(9) == 0) {
        const uint64_t id = 1 + random.below(next_id);
        if (engine.scheduler().find(id) != nullptr) aborted.push_back(id);
        engine.abort(id);
      }
      if (random.below(40) == 0) engine.scheduler().preempt_all();
      if (!engine.scheduler().empty()) engine.step();
    }
    run_to_end(engine);
    REQUIRE(engine.responses.size() == requests.size());
    for (const auto& [id, request] : requests) {
      std::vector<int32_t> expected = expected_response(request);
      if (std::find(aborted.begin(), aborted.end(), id) != aborted.end())
        expected.resize(engine.responses[id].size());
      REQUIRE(engine.responses[id] == expected);
    }
    REQUIRE(engine.scheduler().pool().num_free() == limits.num_pages);
  }
}
