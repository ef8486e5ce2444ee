#include <algorithm>

#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

Json config_of(const std::string& model) {
  return {{"model", (kGolden / model).string()}, {"max_model_len", 64}};
}

std::vector<const verlc_named_tensor*> pointers(const std::vector<plugin::NamedTensor>& weights) {
  std::vector<const verlc_named_tensor*> result;
  for (const plugin::NamedTensor& weight : weights) result.push_back(weight.get());
  return result;
}

void send(TestEngine& engine, uint64_t version, const std::vector<const verlc_named_tensor*>& parts,
          size_t chunk) {
  REQUIRE(engine.update_begin(version).status == VERLC_OK);
  for (size_t i = 0; i < parts.size(); i += chunk) {
    const Outcome outcome =
        engine.update_part({parts.begin() + static_cast<ptrdiff_t>(i),
                            parts.begin() + static_cast<ptrdiff_t>(std::min(parts.size(), i + chunk))});
    INFO(outcome.message);
    REQUIRE(outcome.status == VERLC_OK);
  }
  REQUIRE(engine.update_part({}).status == VERLC_OK);
  REQUIRE(engine.update_end().status == VERLC_OK);
}

}  // namespace

TEST_CASE("a sync in 1, 2 or N chunks, in any order, gives the trainer's digest and results (A22, A23)") {
  for (const std::string& name : {std::string("qwen3"), std::string("llama_llama3")}) {
    FakeHost host(2);
    TestEngine engine(host, config_of(name));
    ReferenceModel reference(kGolden / name);
    REQUIRE(engine.digest() == reference.digest());
    const std::string before = engine.digest();
    reference.shift(0.01f);
    const std::vector<plugin::NamedTensor> weights = reference.export_weights();
    std::vector<const verlc_named_tensor*> parts = pointers(weights);
    const std::vector<Request> requests = make_requests(112, 3, 2, 20, 10);
    Responses first;
    uint64_t version = 3;
    for (const size_t chunk : {parts.size(), (parts.size() + 1) / 2, size_t{1}}) {
      std::reverse(parts.begin(), parts.end());
      send(engine, version, parts, chunk);
      REQUIRE(engine.digest() == reference.digest());
      REQUIRE(engine.digest() != before);
      const Responses responses = engine.generate(requests);
      for (const auto& [id, response] : responses) {
        REQUIRE(response.weights_first == version);
        REQUIRE(response.weights_last == version);
        if (!first.empty()) REQUIRE(response.logp == first.at(id).logp);
      }
      first = responses;
      ++version;
    }
    std::vector<std::vector<int32_t>> tokens;
    for (const Request& request : requests) tokens.push_back(first.at(request.id).tokens);
    const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
    for (size_t i = 0; i < requests.size(); ++i) REQUIRE(first.at(requests[i].id).logp == expected[i]);
  }
}

TEST_CASE("a transposed view arrives as what it shows (B13)") {
  FakeHost host(1);
  TestEngine engine(host, config_of("llama_llama3"));
  ReferenceModel reference(kGolden / "llama_llama3");
  const std::vector<plugin::NamedTensor> weights = reference.export_weights();
  std::vector<std::vector<float>> columns(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    verlc_tensor& tensor = weights[i].get()->tensor->tensor;
    if (tensor.ndim != 2) continue;
    const int64_t n = tensor.shape[0];
    const int64_t k = tensor.shape[1];
    columns[i].resize(static_cast<size_t>(n * k));
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < k; ++c)
        columns[i][static_cast<size_t>(c * n + r)] = static_cast<const float*>(tensor.data)[r * k + c];
    tensor.data = columns[i].data();
    tensor.strides[0] = 1;
    tensor.strides[1] = n;
  }
  send(engine, 1, pointers(weights), 2);
  REQUIRE(engine.digest() == reference.digest());
}

TEST_CASE("an update given up leaves weights, digest and results as they were") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  const std::vector<Request> requests = make_requests(112, 2, 2, 20, 10);
  const Responses before = engine.generate(requests);
  const std::string digest = engine.digest();
  ReferenceModel other(kGolden / "qwen3");
  other.shift(0.5f);
  const std::vector<plugin::NamedTensor> weights = other.export_weights();
  REQUIRE(engine.update_begin(9).status == VERLC_OK);
  REQUIRE(engine.update_part(pointers(weights)).status == VERLC_OK);
  REQUIRE(engine.update_end(false).status == VERLC_OK);
  REQUIRE(engine.digest() == digest);
  const Responses after = engine.generate(requests);
  for (const auto& [id, response] : before) {
    REQUIRE(after.at(id).logp == response.logp);
    REQUIRE(after.at(id).weights_first == 0);
  }
}

TEST_CASE("wrong parts are refused by name and change nothing") {
  FakeHost host(1);
  TestEngine engine(host, config_of("qwen3"));
  ReferenceModel reference(kGolden / "qwen3");
  std::vector<plugin::NamedTensor> weights = reference.export_weights();
  const std::vector<const verlc_named_tensor*> parts = pointers(weights);
  REQUIRE(engine.update_part(parts).status == VERLC_E_STATE);
  REQUIRE(engine.update_end().status == VERLC_E_STATE);
  REQUIRE(engine.update_begin(1).status == VERLC_OK);
  REQUIRE(engine.update_begin(2).status == VERLC_E_STATE);

  const std::vector<float> data(4096, 0.0f);
  const auto refused = [&](const std::string& name, std::vector<int64_t> shape, plugin::ElementType type) {
    const plugin::NamedTensor wrong(
        name, plugin::ManagedTensor(plugin::make_managed_tensor(data.data(), type, shape)));
    // The whole call is refused, the good part with it.
    const Outcome outcome = engine.update_part({parts[0], wrong.get()});
    REQUIRE(outcome.message.find(name) != std::string::npos);
    return outcome;
  };
  const Outcome unknown = refused("model.norm.weigth", {32}, plugin::kF32);
  REQUIRE(unknown.status == VERLC_E_ARGUMENT);
  REQUIRE(unknown.message.find("model.norm.weight") != std::string::npos);
  REQUIRE(refused("model.norm.weight", {31}, plugin::kF32).message.find("[31]") != std::string::npos);
  REQUIRE(refused("model.norm.weight", {32}, plugin::kF16).status == VERLC_E_UNSUPPORTED);
  REQUIRE(refused(weights[0].name(), {112, 32}, plugin::kF32).status == VERLC_E_ARGUMENT);

  const Outcome empty = engine.update_end();
  REQUIRE(empty.status == VERLC_E_STATE);
  REQUIRE(empty.message.find(std::to_string(parts.size()) + " weights were not sent") != std::string::npos);
  REQUIRE(engine.update_part({parts.begin() + 1, parts.end()}).status == VERLC_OK);
  const Outcome one = engine.update_end();
  REQUIRE(one.message.find(weights[0].name()) != std::string::npos);
  REQUIRE(engine.update_part({parts[0]}).status == VERLC_OK);
  REQUIRE(engine.update_part({parts[0]}).status == VERLC_E_ARGUMENT);
  REQUIRE(engine.update_end().status == VERLC_OK);
  REQUIRE(engine.digest() == reference.digest());
}

TEST_CASE(
    "unfinished requests refuse an update, or go on under the new weights without old cache (A24, T23)") {
  FakeHost host(1);
  TestEngine engine(host, config_of("llama_llama3"));
  ReferenceModel reference(kGolden / "llama_llama3");
  reference.shift(0.02f);
  const std::vector<plugin::NamedTensor> weights = reference.export_weights();
  std::vector<Request> requests = make_requests(112, 2, 2, 20, 30);
  for (Request& request : requests) request.sampling.ignore_eos = true;
  REQUIRE(engine.submit(requests).status == VERLC_OK);
  Responses responses;
  for (int i = 0; i < 12; ++i) REQUIRE(engine.poll(responses, 0).status == VERLC_AGAIN);
  const Outcome refused = engine.update_begin(5);
  REQUIRE(refused.status == VERLC_E_STATE);
  REQUIRE(refused.message.find("4 requests are unfinished") != std::string::npos);
  REQUIRE(engine.update_begin(5, true).status == VERLC_OK);
  REQUIRE(engine.poll(responses, 0).status == VERLC_E_STATE);
  REQUIRE(engine.update_part(pointers(weights)).status == VERLC_OK);
  REQUIRE(engine.update_end().status == VERLC_OK);
  responses = engine.finish();
  std::vector<std::vector<int32_t>> tokens;
  for (const Request& request : requests) {
    const Response& response = responses.at(request.id);
    REQUIRE(response.tokens.size() == 30);
    REQUIRE(response.weights_first == 0);
    REQUIRE(response.weights_last == 5);
    tokens.push_back(response.tokens);
  }
  // What came after the update has the log-probs of the new weights over the whole sequence.
  const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::vector<float>& logp = responses.at(requests[i].id).logp;
    REQUIRE(logp.back() == expected[i].back());
    REQUIRE(std::vector<float>(logp.end() - 15, logp.end()) ==
            std::vector<float>(expected[i].end() - 15, expected[i].end()));
    REQUIRE(logp.front() != expected[i].front());
  }
}
