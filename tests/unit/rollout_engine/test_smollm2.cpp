// The published checkpoint, where scripts/get_smollm2.sh has put it; without it there is nothing to compare.
#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

TEST_CASE("SmolLM2: rollout log-probs equal the training path's bit for bit") {
  const std::filesystem::path folder =
      std::filesystem::path(VERLC_SOURCE_DIR) / "models/SmolLM2-135M-Instruct";
  if (!std::filesystem::exists(folder / "model.safetensors")) {
    WARN("skipped: run scripts/get_smollm2.sh first");
    return;
  }
  FakeHost host(2);
  Json config = {{"model", folder.string()},
                 {"max_model_len", 128},
                 {"max_num_batched_tokens", 37},
                 {"max_num_seqs", 5}};
  ReferenceModel reference(folder);
  std::vector<Request> requests = make_requests(49152, 3, 2, 60, 10);
  std::vector<std::vector<int32_t>> tokens;
  Responses responses;
  {
    TestEngine engine(host, config);
    REQUIRE(engine.digest() == reference.digest());
    responses = engine.generate(requests);
  }
  for (const Request& request : requests) tokens.push_back(responses.at(request.id).tokens);
  const std::vector<std::vector<float>> expected = reference.logp(requests, tokens);
  for (size_t i = 0; i < requests.size(); ++i) REQUIRE(responses.at(requests[i].id).logp == expected[i]);
}
