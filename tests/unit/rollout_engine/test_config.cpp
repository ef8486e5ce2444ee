#include "unit/rollout_engine/engine_fixture.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

Json config_of(const std::string& model) {
  return {{"model", (kGolden / model).string()}};
}

}  // namespace

TEST_CASE("a wrong configuration is refused with key, value and rule") {
  FakeHost host(1);
  const auto message = [&](const Json& change) {
    Json config = config_of("qwen3");
    config.update(change);
    TestEngine engine(host);
    const Outcome outcome = engine.create(config);
    REQUIRE(outcome.status == VERLC_E_CONFIG);
    return outcome.message;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    REQUIRE(text.find(part) != std::string::npos);
  };
  has(message({{"max_num_seq", 4}}), "max_num_seqs");
  has(message({{"max_num_seq", 4}}), "unknown key");
  has(message({{"dtype", "float16"}}), "bfloat16");
  has(message({{"load_format", "fast"}}), "dummy");
  has(message({{"block_size", 20}}), "multiple of 16");
  has(message({{"max_num_seqs", 0}}), "max_num_seqs");
  has(message({{"max_num_seqs", "many"}}), "max_num_seqs");
  has(message({{"max_model_len", 65}}), "64 positions");
  has(message({{"kv_cache_bytes", 100}}), "0 pages of 16 positions = 0 tokens");
  has(message({{"enable_chunked_prefill", false}, {"max_num_batched_tokens", 63}}),
      "max_num_batched_tokens = 63");
  has(message({{"model", "/nowhere/at/all"}}), "/nowhere/at/all");
  TestEngine engine(host);
  REQUIRE(engine.create(Json::array()).status == VERLC_E_CONFIG);
  REQUIRE(engine.create(Json::object()).status == VERLC_E_CONFIG);
  REQUIRE(host.live == 0);
}

TEST_CASE("describe gives a schema of every key") {
  FakeHost host(1);
  TestEngine engine(host);
  const Json described = Json::parse(engine.describe());
  const Json& properties = described.at("config").at("properties");
  REQUIRE(properties.size() == 11);
  for (const auto& [key, schema] : properties.items()) {
    REQUIRE(schema.contains("type"));
    REQUIRE(!schema.at("description").get<std::string>().empty());
    REQUIRE((schema.contains("default") || key == "model"));
  }
  REQUIRE(described.at("dtypes").size() == 3);
}

TEST_CASE("estimate counts what is then held") {
  FakeHost host(1);
  Json config = config_of("llama_llama3");
  config["max_num_seqs"] = 3;
  TestEngine engine(host);
  std::string json;
  const std::string text = config.dump();
  REQUIRE(engine.api->estimate(engine.api->self, plugin::to_abi(text), plugin::to_abi("{\"sequences\": 3}"),
                               plugin::append_to_string, &json, nullptr) == VERLC_OK);
  REQUIRE(host.live == 0);
  const Json rollout = Json::parse(json).at("phases").at("rollout");
  REQUIRE(engine.create(config).status == VERLC_OK);
  REQUIRE(host.live_kv == rollout.at("kv_cache").get<int64_t>());
  const int64_t param = rollout.at("param").get<int64_t>();
  REQUIRE(host.live - host.live_kv >= param);
  REQUIRE(host.live - host.live_kv < param + 100000);
}

TEST_CASE("the cache takes at most half of a limited memory, and one sequence at least") {
  FakeHost host(1);
  host.limit = 1 << 20;
  TestEngine engine(host, config_of("llama_llama3"));
  REQUIRE(host.live_kv <= 1 << 19);
  REQUIRE(host.live_kv > 1 << 17);
}
