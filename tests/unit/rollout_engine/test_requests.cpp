#include <cmath>
#include <set>
#include <thread>

#include "rollout/request_queue.hpp"
#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

Json config_of(const std::string& model) {
  return {{"model", (kGolden / model).string()}, {"max_model_len", 64}};
}

}  // namespace

TEST_CASE("an accepted id yields exactly one completion, aborted or not, from any thread") {
  FakeHost host(2);
  Json config = config_of("qwen3");
  config["max_num_seqs"] = 8;
  TestEngine engine(host, config);
  std::vector<Request> base = make_requests(112, 1, 1, 10, 40);
  constexpr uint64_t kCount = 200;
  std::thread other([&] {
    for (uint64_t id = 1; id <= kCount; ++id) {
      Request request = base[0];
      request.id = id;
      request.seed = id;
      request.prefix = id % 3;
      (void)engine.submit({request});
      const std::vector<uint64_t> ids{id, id * 7 % kCount, id / 2, 99999};
      if (id % 4 == 0)
        (void)engine.api->abort(engine.engine, ids.data(), static_cast<uint32_t>(ids.size()), nullptr);
    }
  });
  Responses responses;
  while (responses.size() < kCount) {
    const Outcome outcome = engine.poll(responses, 1000000);
    REQUIRE(outcome.status >= 0);
  }
  other.join();
  REQUIRE(engine.poll(responses).status == VERLC_END);
  size_t aborted = 0;
  for (const auto& [id, response] : responses) {
    REQUIRE(response.tokens.size() == response.logp.size());
    if (response.finish == Finish::aborted) ++aborted;
  }
  REQUIRE(aborted > 10);
  REQUIRE(aborted < kCount);
}

TEST_CASE("a response ends at an end id of the folder, included, and is no truncation (T11, B8)") {
  FakeHost host(1);
  TestEngine engine(host, config_of("llama_llama3"));
  std::vector<Request> requests = make_requests(112, 40, 1, 8, 50);
  std::set<uint64_t> stopped;
  for (const auto& [id, response] : engine.generate(requests)) {
    const auto end = std::find(response.tokens.begin(), response.tokens.end(), 2);
    if (response.finish == Finish::stop) {
      REQUIRE(end == response.tokens.end() - 1);
      stopped.insert(id);
    } else {
      REQUIRE(response.finish == Finish::length);
      REQUIRE(end == response.tokens.end());
      REQUIRE(response.tokens.size() == 50);
    }
  }
  REQUIRE(stopped.size() > 1);
  for (Request& request : requests) request.sampling.min_new_tokens = 50;
  for (const auto& [id, response] : engine.generate(requests)) {
    REQUIRE(response.tokens.size() == 50);
    REQUIRE(std::find(response.tokens.begin(), response.tokens.end() - 1, 2) == response.tokens.end() - 1);
  }
  for (Request& request : requests) {
    request.sampling.min_new_tokens = 0;
    request.sampling.ignore_eos = true;
    request.sampling.stop_ids = {7, 9};
  }
  for (const auto& [id, response] : engine.generate(requests)) {
    const auto end =
        std::find_first_of(response.tokens.begin(), response.tokens.end(),
                           requests[0].sampling.stop_ids.begin(), requests[0].sampling.stop_ids.end());
    REQUIRE(end == (response.finish == Finish::stop ? response.tokens.end() - 1 : response.tokens.end()));
  }
}

TEST_CASE("a response is cut at max_model_len") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  std::vector<Request> requests = make_requests(112, 1, 1, 1, 1000);
  requests[0].prompt.assign(60, 3);
  requests[0].sampling.ignore_eos = true;
  const Responses responses = engine.generate(requests);
  REQUIRE(responses.begin()->second.tokens.size() == 4);
  REQUIRE(responses.begin()->second.finish == Finish::length);
}

TEST_CASE("wrong requests are refused whole, with id, value and rule") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  const Request good = make_requests(112, 1, 1, 10, 5)[0];
  const auto message = [&](auto&& change) {
    Request bad = good;
    bad.id = 4711;
    change(bad);
    uint32_t accepted = 77;
    const Outcome outcome = engine.submit({good, bad}, &accepted);
    REQUIRE(outcome.status == VERLC_E_ARGUMENT);
    return outcome.message;
  };
  using std::string;
  const auto has = [](const string& text, const string& part) { return text.find(part) != string::npos; };
  REQUIRE(has(message([](Request& r) { r.prompt.clear(); }), "request 4711: the prompt is empty"));
  REQUIRE(has(message([](Request& r) { r.prompt.assign(64, 1); }), "64 tokens, but max_model_len = 64"));
  REQUIRE(has(message([](Request& r) { r.prompt[0] = 112; }), "is 112, the vocabulary has 112"));
  REQUIRE(has(message([](Request& r) { r.prompt[0] = -1; }), "is -1"));
  REQUIRE(has(message([](Request& r) { r.sampling.temperature = -0.5; }), "temperature = -0.5"));
  REQUIRE(has(message([](Request& r) { r.sampling.temperature = NAN; }), "temperature"));
  REQUIRE(has(message([](Request& r) { r.sampling.top_p = 0; }), "top_p = 0"));
  REQUIRE(has(message([](Request& r) { r.sampling.min_p = 1; }), "min_p = 1"));
  REQUIRE(has(message([](Request& r) { r.sampling.repetition_penalty = 0; }), "repetition_penalty = 0"));
  REQUIRE(has(message([](Request& r) { r.sampling.max_new_tokens = 0; }), "max_new_tokens = 0"));
  REQUIRE(has(message([](Request& r) { r.sampling.stop_strings = {"x"}; }), "tokenizer.json"));
  REQUIRE(has(message([&](Request& r) { r.id = good.id; }), "unfinished"));
  Responses responses;
  REQUIRE(engine.poll(responses).status == VERLC_END);
}

TEST_CASE("a cancelled scope stops poll between steps and loses nothing") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  std::vector<Request> requests = make_requests(112, 2, 1, 10, 30);
  requests[1].cancel_scope = 5;
  REQUIRE(engine.submit(requests).status == VERLC_OK);
  Responses responses;
  host.cancelled_scope = 5;
  REQUIRE(engine.poll(responses).status == VERLC_E_CANCELLED);
  host.cancelled_scope = 0;
  REQUIRE(engine.finish().size() == 2);
}

TEST_CASE("poll keeps its time and capacity") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  std::vector<Request> requests = make_requests(112, 3, 2, 10, 40);
  for (Request& request : requests) request.sampling.ignore_eos = true;
  REQUIRE(engine.submit(requests).status == VERLC_OK);
  Responses responses;
  REQUIRE(engine.poll(responses, 0).status == VERLC_AGAIN);
  REQUIRE(responses.empty());
  REQUIRE(engine.poll(responses, -1, 2).status == VERLC_OK);
  REQUIRE(responses.size() == 2);
  REQUIRE(engine.poll(responses, -1, 1).status == VERLC_OK);
  REQUIRE(responses.size() == 3);
}

TEST_CASE("a full queue takes the first requests; a finished one makes room and frees its id") {
  RequestQueue queue(2);
  std::vector<Request> requests = make_requests(112, 1, 3, 5, 5);
  REQUIRE(queue.submit(requests) == 2);
  REQUIRE(queue.submit({requests[2]}) == 0);
  REQUIRE_THROWS_AS(queue.submit({requests[0]}), plugin::Failure);
  const std::vector<uint64_t> ids{requests[0].id, requests[2].id};
  queue.abort(ids);
  queue.finished(requests[0].id);
  REQUIRE(queue.submit({requests[2], requests[0]}) == 1);
  const RequestQueue::Arrivals arrivals = queue.take();
  REQUIRE(arrivals.requests.size() == 3);
  REQUIRE(arrivals.aborts.empty());
  REQUIRE(queue.num_unfinished() == 2);
}
