// Sampled tokens and log-probs do not depend on how the work is cut, and equal the training path bit for bit.
#include "core/base/file.hpp"
#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

const std::vector<std::string> kModels{"qwen2", "qwen3", "mistral", "llama_llama3", "qwen2_yarn"};

Json config_of(const std::string& model) {
  return {
      {"model", (kGolden / model).string()}, {"block_size", 16}, {"max_num_seqs", 64}, {"max_model_len", 64}};
}

void require_equal(const Responses& got, const Responses& expected) {
  REQUIRE(got.size() == expected.size());
  for (const auto& [id, response] : expected) {
    INFO("request " << id);
    const Response& other = got.at(id);
    REQUIRE(other.tokens == response.tokens);
    REQUIRE(other.logp == response.logp);
    REQUIRE(other.finish == response.finish);
  }
}

}  // namespace

TEST_CASE("log-probs equal the training path's bit for bit") {
  for (const std::string& name : kModels) {
    DYNAMIC_SECTION(name) {
      FakeHost host(2);
      TestEngine engine(host, config_of(name));
      ReferenceModel reference(kGolden / name);
      const std::vector<Request> requests = make_requests(reference.model().config().vocab, 6, 3, 30, 30);
      const Responses responses = engine.generate(requests);
      std::vector<std::vector<int32_t>> tokens;
      for (const Request& request : requests) tokens.push_back(responses.at(request.id).tokens);
      const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
      size_t compared = 0;
      for (size_t i = 0; i < requests.size(); ++i) {
        REQUIRE(responses.at(requests[i].id).logp == expected[i]);
        compared += expected[i].size();
      }
      REQUIRE(compared > 100);
    }
  }
}

TEST_CASE("results do not depend on threads, batch, chunks, pages, sharing or preemption") {
  for (const std::string& name : kModels) {
    const std::vector<Request> requests = make_requests(112, 5, 4, 30, 30);
    FakeHost one(1);
    FakeHost two(2);
    Json alone = config_of(name);
    alone["max_num_seqs"] = 1;
    alone["enable_prefix_caching"] = false;
    TestEngine first(one, alone);
    const Responses expected = first.generate(requests);
    // One sequence of 64 positions in one layer: 4 pages of 16.
    const Json model = Json::parse(read_file(kGolden / name / "config.json"));
    const int64_t dim = model.value(
        "head_dim", model["hidden_size"].get<int64_t>() / model["num_attention_heads"].get<int64_t>());
    const int64_t page_bytes = 2 * 4 * 16 * dim * model["num_key_value_heads"].get<int64_t>() *
                               model["num_hidden_layers"].get<int64_t>();
    const std::vector<Json> changes{
        {{"max_num_batched_tokens", 5}},
        {{"max_num_batched_tokens", 16}, {"max_num_seqs", 7}},
        {{"block_size", 32}},
        {{"block_size", 48}, {"enable_prefix_caching", false}},
        {{"enable_chunked_prefill", false}, {"max_num_batched_tokens", 64}},
        {{"kv_cache_bytes", 5 * page_bytes}},
        {{"kv_cache_bytes", 9 * page_bytes}, {"max_num_batched_tokens", 23}},
    };
    for (FakeHost* host : {&one, &two}) {
      for (const Json& change : changes) {
        CAPTURE(name, change.dump(), host == &two);
        Json config = config_of(name);
        config.update(change);
        TestEngine engine(*host, config);
        require_equal(engine.generate(requests), expected);
      }
    }
  }
}

TEST_CASE("the batch mix of a request changes nothing") {
  FakeHost host(2);
  TestEngine engine(host, config_of("qwen3"));
  std::vector<Request> requests = make_requests(112, 4, 2, 30, 20);
  const Responses together = engine.generate(requests);
  for (const Request& request : requests) {
    const Responses alone = engine.generate({request});
    REQUIRE(alone.at(request.id).tokens == together.at(request.id).tokens);
    REQUIRE(alone.at(request.id).logp == together.at(request.id).logp);
  }
}

TEST_CASE("greedy decoding reports log-probs at temperature 1, equal to the training path's") {
  FakeHost host(1);
  TestEngine engine(host, config_of("llama_llama3"));
  ReferenceModel reference(kGolden / "llama_llama3");
  std::vector<Request> requests = make_requests(112, 3, 1, 20, 20);
  for (Request& request : requests) {
    request.sampling.temperature = 0;
    request.sampling.repetition_penalty = 1.3;
  }
  const Responses responses = engine.generate(requests);
  std::vector<std::vector<int32_t>> tokens;
  for (const Request& request : requests) tokens.push_back(responses.at(request.id).tokens);
  const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
  for (size_t i = 0; i < requests.size(); ++i) REQUIRE(responses.at(requests[i].id).logp == expected[i]);
}

TEST_CASE("matrices held as bfloat16 give what the rounded float32 model gives") {
  FakeHost host(2);
  for (const std::string& name : {std::string("qwen3"), std::string("llama_llama3")}) {
    ReferenceModel reference(kGolden / name);
    reference.round_to_bf16();
    Json config = config_of(name);
    config["dtype"] = "bfloat16_weights";
    config["load_format"] = "none";
    TestEngine engine(host, config);
    std::vector<const verlc_named_tensor*> parts;
    const std::vector<plugin::NamedTensor> weights = reference.export_weights(true);
    for (const plugin::NamedTensor& weight : weights) parts.push_back(weight.get());
    REQUIRE(engine.update_begin(1).status == VERLC_OK);
    REQUIRE(engine.update_part(parts).status == VERLC_OK);
    REQUIRE(engine.update_end().status == VERLC_OK);
    REQUIRE(engine.digest() == reference.digest(true));
    const std::vector<Request> requests = make_requests(112, 3, 2, 30, 20);
    const Responses responses = engine.generate(requests);
    std::vector<std::vector<int32_t>> tokens;
    for (const Request& request : requests) tokens.push_back(responses.at(request.id).tokens);
    const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
    for (size_t i = 0; i < requests.size(); ++i) REQUIRE(responses.at(requests[i].id).logp == expected[i]);
  }
}
