#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

Json config_of(const std::string& model) {
  return {{"model", (kGolden / model).string()}, {"max_model_len", 64}};
}

void update(TestEngine& engine, ReferenceModel& reference) {
  const std::vector<plugin::NamedTensor> weights = reference.export_weights();
  std::vector<const verlc_named_tensor*> parts;
  for (const plugin::NamedTensor& weight : weights) parts.push_back(weight.get());
  REQUIRE(engine.update_begin(1).status == VERLC_OK);
  REQUIRE(engine.update_part(parts).status == VERLC_OK);
  REQUIRE(engine.update_end().status == VERLC_OK);
}

constexpr uint32_t kBoth = VERLC_PART_PARAM | VERLC_PART_KV;

}  // namespace

TEST_CASE("sleep gives memory back, wake and the same weights give the same results (A1, A18)") {
  FakeHost host(2);
  TestEngine engine(host, config_of("qwen3"));
  ReferenceModel reference(kGolden / "qwen3");
  const std::vector<Request> requests = make_requests(112, 3, 2, 20, 20);
  const Responses before = engine.generate(requests);
  const int64_t awake = host.live;
  REQUIRE(host.live_kv > 0);

  REQUIRE(engine.sleep(VERLC_PART_KV).status == VERLC_OK);
  REQUIRE(host.live_kv == 0);
  REQUIRE(engine.wake(VERLC_PART_KV).status == VERLC_OK);
  const Responses after_kv = engine.generate(requests);

  REQUIRE(engine.sleep(kBoth).status == VERLC_OK);
  REQUIRE(host.live_kv == 0);
  REQUIRE(host.live < awake / 2);
  REQUIRE(engine.wake(VERLC_PART_PARAM).status == VERLC_OK);
  update(engine, reference);
  REQUIRE(host.live_kv == 0);
  REQUIRE(engine.wake(VERLC_PART_KV).status == VERLC_OK);
  const Responses after_both = engine.generate(requests);
  REQUIRE(host.live <= awake);
  for (const auto& [id, response] : before) {
    REQUIRE(after_kv.at(id).logp == response.logp);
    REQUIRE(after_both.at(id).logp == response.logp);
  }
}

TEST_CASE("sleep in the middle of requests loses none of them and changes no result") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen2"));
  const std::vector<Request> requests = make_requests(112, 2, 3, 20, 20);
  const Responses expected = engine.generate(requests);
  REQUIRE(engine.submit(requests).status == VERLC_OK);
  Responses responses;
  for (int i = 0; i < 4; ++i) REQUIRE(engine.poll(responses, 0).status >= 0);
  REQUIRE(engine.sleep(VERLC_PART_KV).status == VERLC_OK);
  REQUIRE(engine.wake(VERLC_PART_KV).status == VERLC_OK);
  for (const auto& [id, response] : engine.finish()) responses[id] = response;
  REQUIRE(responses.size() == expected.size());
  for (const auto& [id, response] : expected) REQUIRE(responses.at(id).logp == response.logp);
}

TEST_CASE("every illegal call is refused with VERLC_E_STATE and a message") {
  FakeHost host(1);
  Json config = config_of("qwen3");
  config["load_format"] = "none";
  TestEngine engine(host, config);
  ReferenceModel reference(kGolden / "qwen3");
  Responses none;
  const auto refused = [](const Outcome& outcome) {
    REQUIRE(outcome.status == VERLC_E_STATE);
    REQUIRE(!outcome.message.empty());
  };
  // Nothing to do is no error, whatever the state.
  REQUIRE(engine.poll(none).status == VERLC_END);
  REQUIRE(engine.submit(make_requests(112, 1, 1, 5, 3)).status == VERLC_OK);
  refused(engine.poll(none));
  std::string hex;
  refused(engine.call(
      [&](verlc_error* e) { return engine.api->digest(engine.engine, plugin::append_to_string, &hex, e); }));
  refused(engine.update_begin(1));
  REQUIRE(engine.update_begin(1, true).status == VERLC_OK);
  refused(engine.sleep(VERLC_PART_KV));
  refused(engine.update_end(false));
  REQUIRE(engine.update_begin(1, true).status == VERLC_OK);
  refused(engine.update_end(false));
  refused(engine.wake(VERLC_PART_KV));
  REQUIRE(engine.sleep(VERLC_PART_PARAM).status == VERLC_OK);
  refused(engine.sleep(kBoth));
  refused(engine.update_begin(1, true));
  REQUIRE(engine.wake(VERLC_PART_PARAM).status == VERLC_OK);
  REQUIRE(engine.sleep(VERLC_PART_OPTIMIZER).status == VERLC_E_ARGUMENT);
  REQUIRE(engine.sleep(0).status == VERLC_E_ARGUMENT);
  const uint64_t id = 100;
  REQUIRE(engine.call([&](verlc_error* e) { return engine.api->abort(engine.engine, &id, 1, e); }).status ==
          VERLC_OK);
  REQUIRE(engine.poll(none).status == VERLC_OK);
  REQUIRE(none.at(100).finish == Finish::aborted);
  update(engine, reference);
  REQUIRE(engine.digest() == reference.digest());
  REQUIRE(engine.sleep(VERLC_PART_KV).status == VERLC_OK);
  REQUIRE(engine.submit(make_requests(112, 1, 1, 5, 3)).status == VERLC_OK);
  refused(engine.poll(none));
  REQUIRE(engine.wake(VERLC_PART_KV).status == VERLC_OK);
  REQUIRE(engine.finish().size() == 1);
}

TEST_CASE("memory that runs out inside a step is an error; the results after it are right") {
  FakeHost host(1);
  TestEngine engine(host, config_of("llama_llama3"));
  const std::vector<Request> requests = make_requests(112, 2, 4, 20, 20);
  const Responses expected = engine.generate(requests);
  REQUIRE(engine.submit(requests).status == VERLC_OK);
  Responses responses;
  int failures = 0;
  for (int64_t attempt = 0; attempt < 60; ++attempt) {
    host.fail_after = (attempt * 17) % 200;
    const Outcome outcome = engine.poll(responses, 0);
    if (outcome.status == VERLC_E_MEMORY_HOST) ++failures;
    host.fail_after = -1;
    REQUIRE((outcome.status >= 0 || outcome.status == VERLC_E_MEMORY_HOST));
    if (engine.poll(responses, 0).status == VERLC_END) break;
  }
  REQUIRE(failures > 3);
  for (const auto& [id, response] : engine.finish()) responses[id] = response;
  REQUIRE(responses.size() == expected.size());
  for (const auto& [id, response] : expected) {
    REQUIRE(responses.at(id).tokens == response.tokens);
    REQUIRE(responses.at(id).logp == response.logp);
  }
}

TEST_CASE("everything goes back to the host") {
  FakeHost host(2);
  {
    TestEngine engine(host, config_of("qwen3"));
    engine.generate(make_requests(112, 2, 2, 20, 5));
    std::vector<verlc_memory_stat> stats(8, plugin::make_struct<verlc_memory_stat>());
    std::vector<verlc_memory_stat*> out;
    for (verlc_memory_stat& stat : stats) out.push_back(&stat);
    uint32_t count = 0;
    REQUIRE(engine.api->memory_stats(engine.engine, out.data(), 8, &count, nullptr) == VERLC_OK);
    uint64_t now = 0;
    for (uint32_t i = 0; i < count; ++i) {
      now += stats[i].bytes_now;
      REQUIRE(stats[i].bytes_peak >= stats[i].bytes_now);
    }
    REQUIRE(static_cast<int64_t>(now) == host.live);
    engine.submit(make_requests(112, 1, 1, 20, 5));
  }
  REQUIRE(host.live == 0);
}
