// The engine through its C table, with responses by id.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rollout/api.hpp"
#include "rollout/schedule/request.hpp"
#include "unit/rollout_engine/fake_host.hpp"

namespace verlc::rollout::test {

inline const std::filesystem::path kGolden = std::filesystem::path(VERLC_SOURCE_DIR) / "tests/data/golden";

using Json = nlohmann::json;
using Responses = std::map<uint64_t, Response>;

/// A call's status and message.
struct Outcome {
  verlc_status status = VERLC_OK;
  std::string message;
};

class TestEngine {
 public:
  /// The host must outlive the engine. Fails the test when the engine can't be made.
  TestEngine(FakeHost& host, const Json& config) {
    open(host);
    const Outcome outcome = create(config);
    INFO(outcome.message);
    REQUIRE(outcome.status == VERLC_OK);
  }
  /// Only opened: for create() that fails.
  explicit TestEngine(FakeHost& host) { open(host); }
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;
  ~TestEngine() {
    if (engine != nullptr) api->destroy(engine);
  }

  Outcome create(const Json& config) {
    const std::string text = config.dump();
    return call(
        [&](verlc_error* e) { return api->create(api->self, plugin::to_abi(text), nullptr, &engine, e); });
  }
  template <typename Call>
  Outcome call(Call&& body) {
    auto error = plugin::make_struct<verlc_error>();
    const verlc_status status = body(&error);
    return {status, error.message};
  }

  Outcome submit(const std::vector<Request>& requests, uint32_t* accepted = nullptr) {
    std::vector<verlc_sampling> samplings(requests.size());
    std::vector<verlc_request> structs(requests.size());
    std::vector<std::vector<verlc_string>> strings(requests.size());
    std::vector<const verlc_request*> pointers;
    for (size_t i = 0; i < requests.size(); ++i) {
      fill(requests[i], samplings[i], structs[i], strings[i]);
      pointers.push_back(&structs[i]);
    }
    uint32_t count = 0;
    return call([&](verlc_error* e) {
      return api->submit(engine, pointers.data(), static_cast<uint32_t>(pointers.size()),
                         accepted != nullptr ? accepted : &count, e);
    });
  }
  /// One poll of at most `most`; adds what came to responses.
  Outcome poll(Responses& responses, int64_t timeout_ns = -1, uint32_t most = 3) {
    std::vector<verlc_completion> structs(most, plugin::make_struct<verlc_completion>());
    std::vector<verlc_completion*> pointers;
    for (verlc_completion& each : structs) pointers.push_back(&each);
    uint32_t count = 0;
    const Outcome outcome =
        call([&](verlc_error* e) { return api->poll(engine, pointers.data(), most, &count, timeout_ns, e); });
    for (uint32_t i = 0; i < count; ++i) {
      const verlc_completion& from = structs[i];
      REQUIRE(responses.count(from.id) == 0);
      Response& to = responses[from.id];
      to.id = from.id;
      to.weights_first = from.weights_first;
      to.weights_last = from.weights_last;
      to.tokens.assign(from.tokens, from.tokens + from.num_tokens);
      to.logp.assign(from.logp, from.logp + from.num_tokens);
      to.finish = static_cast<Finish>(from.finish);
    }
    api->release(engine, pointers.data(), count);
    return outcome;
  }
  /// Submits and polls to the end.
  Responses generate(const std::vector<Request>& requests) {
    const Outcome submitted = submit(requests);
    INFO(submitted.message);
    REQUIRE(submitted.status == VERLC_OK);
    return finish();
  }
  Responses finish() {
    Responses responses;
    while (true) {
      const Outcome outcome = poll(responses);
      INFO(outcome.message);
      REQUIRE(outcome.status >= 0);
      if (outcome.status == VERLC_END) return responses;
    }
  }
  std::string digest() {
    std::string hex;
    const Outcome outcome =
        call([&](verlc_error* e) { return api->digest(engine, plugin::append_to_string, &hex, e); });
    INFO(outcome.message);
    REQUIRE(outcome.status == VERLC_OK);
    return hex;
  }
  std::string describe() {
    std::string json;
    REQUIRE(plugin_->describe(plugin_->self, VERLC_CAPABILITY_ROLLOUT, plugin::append_to_string, &json,
                              nullptr) == VERLC_OK);
    return json;
  }
  Outcome update_begin(uint64_t version, bool keep = false) {
    return call([&](verlc_error* e) { return api->update_begin(engine, version, keep ? 1 : 0, e); });
  }
  Outcome update_part(const std::vector<const verlc_named_tensor*>& weights) {
    return call([&](verlc_error* e) {
      return api->update_part(engine, weights.data(), static_cast<uint32_t>(weights.size()), e);
    });
  }
  Outcome update_end(bool commit = true) {
    return call([&](verlc_error* e) { return api->update_end(engine, commit ? 1 : 0, e); });
  }
  Outcome sleep(uint32_t parts) {
    return call([&](verlc_error* e) { return api->sleep(engine, parts, e); });
  }
  Outcome wake(uint32_t parts) {
    return call([&](verlc_error* e) { return api->wake(engine, parts, e); });
  }

  const verlc_rollout_api* api = nullptr;
  verlc_rollout* engine = nullptr;

 private:
  void open(FakeHost& host) {
    const verlc_plugin* plugin = nullptr;
    REQUIRE(open_plugin(host.table(), &plugin, nullptr) == VERLC_OK);
    plugin_.reset(plugin);
    api = static_cast<const verlc_rollout_api*>(plugin_->capability(plugin_->self, VERLC_CAPABILITY_ROLLOUT));
    REQUIRE(api != nullptr);
  }
  static void fill(const Request& from, verlc_sampling& sampling, verlc_request& to,
                   std::vector<verlc_string>& strings) {
    sampling = plugin::make_struct<verlc_sampling>();
    const Sampling& s = from.sampling;
    sampling.temperature = s.temperature;
    sampling.top_p = s.top_p;
    sampling.min_p = s.min_p;
    sampling.repetition_penalty = s.repetition_penalty;
    sampling.top_k = s.top_k;
    sampling.max_new_tokens = s.max_new_tokens;
    sampling.min_new_tokens = s.min_new_tokens;
    sampling.stop_ids = s.stop_ids.data();
    sampling.num_stop_ids = s.stop_ids.size();
    for (const std::string& each : s.stop_strings) strings.push_back(plugin::to_abi(each));
    sampling.stop_strings = strings.data();
    sampling.num_stop_strings = strings.size();
    sampling.ignore_eos = s.ignore_eos ? 1 : 0;
    to = plugin::make_struct<verlc_request>();
    to.id = from.id;
    to.seed = from.seed;
    to.prefix = from.prefix;
    to.prompt = from.prompt.data();
    to.num_prompt = from.prompt.size();
    to.sampling = &sampling;
    to.priority = from.priority;
    to.cancel_scope = from.cancel_scope;
  }

  /// Shut down even when the constructor fails: the next test's host would not be the one in use otherwise.
  struct Shutdown {
    void operator()(const verlc_plugin* plugin) const { plugin->shutdown(plugin->self, nullptr); }
  };
  std::unique_ptr<const verlc_plugin, Shutdown> plugin_;
};

}  // namespace verlc::rollout::test
