// Policy losses and advantages against tests/data/golden/algorithms.json, which scripts/golden/algorithms.py
// writes with PyTorch.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/actor_loss.hpp"
#include "algorithms/advantage.hpp"

using namespace verlc;

namespace {

class Golden {
 public:
  Golden() {
    std::ifstream file(std::filesystem::path(VERLC_SOURCE_DIR) / "tests/data/golden/algorithms.json");
    REQUIRE(file.good());
    json = nlohmann::json::parse(file);
    for (const int64_t length : json.at("lengths")) bounds.push_back(bounds.back() + length);
    for (const bool on : json.at("mask")) mask.push_back(on ? 1 : 0);
    uids = json.at("uids").get<std::vector<uint64_t>>();
  }

  [[nodiscard]] std::vector<float> floats(const char* name) const {
    return json.at(name).get<std::vector<float>>();
  }
  [[nodiscard]] PackedLayout layout() const { return {.cu_seqlens = bounds, .mask = mask}; }

  nlohmann::json json;
  std::vector<int64_t> bounds = {0};
  std::vector<uint8_t> mask;
  std::vector<uint64_t> uids;
};

PolicyLossParams params_of(const nlohmann::json& given) {
  PolicyLossParams params;
  const std::map<std::string, double*> fields = {{"clip_ratio_low", &params.clip_ratio_low},
                                                 {"clip_ratio_high", &params.clip_ratio_high},
                                                 {"clip_ratio_c", &params.clip_ratio_c},
                                                 {"tau_pos", &params.tau_pos},
                                                 {"tau_neg", &params.tau_neg},
                                                 {"dro_beta", &params.dro_beta},
                                                 {"clip_cov_ratio", &params.clip_cov_ratio},
                                                 {"clip_cov_lb", &params.clip_cov_lb},
                                                 {"clip_cov_ub", &params.clip_cov_ub},
                                                 {"kl_cov_ratio", &params.kl_cov_ratio},
                                                 {"ppo_kl_coef", &params.ppo_kl_coef}};
  for (const auto& [name, value] : given.items()) *fields.at(name) = value.get<double>();
  return params;
}

void require_close(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("token " << i);
    REQUIRE(got[i] == Approx(expected[i]).epsilon(2e-6).margin(1e-7));
  }
}

}  // namespace

TEST_CASE("every policy loss has the value and the gradient of PyTorch's autograd") {
  const Golden golden;
  const PolicyLossRegistry registry = make_policy_loss_registry();
  const std::vector<float> logp = golden.floats("logp"), old = golden.floats("old"),
                           advantages = golden.floats("advantages"), weights = golden.floats("is_weights");
  std::set<std::string> seen;
  for (const auto& [name, expected] : golden.json.at("losses").items()) {
    INFO(name);
    const std::string mode = expected.at("loss_mode");
    seen.insert(mode);
    std::vector<float> d_logp(logp.size());
    ActorLossInput input{.layout = golden.layout(),
                         .logp = logp,
                         .old_logp = old,
                         .advantages = advantages,
                         .counts = count_loss_tokens(golden.layout())};
    if (expected.at("weighted").get<bool>()) input.is_weights = weights;
    const LossResult result =
        actor_loss(input, {.loss = &registry.find(mode, "k"), .policy = params_of(expected.at("params"))},
                   {.d_logp = d_logp});
    REQUIRE(result.loss == Approx(expected.at("loss").get<double>()).epsilon(1e-6).margin(1e-9));
    require_close(d_logp, expected.at("d_logp").get<std::vector<double>>());
  }
  for (const std::string& name : registry.names()) {
    INFO(name << " has a golden value");
    REQUIRE(seen.contains(name));
  }
}

TEST_CASE("every advantage estimator has the values of PyTorch") {
  const Golden golden;
  const nlohmann::json& expected = golden.json.at("estimators");
  const AdvantageRegistry registry = make_advantage_registry();
  const std::vector<float> rewards = golden.floats("rewards");
  const auto baselines = expected.at("baselines").get<std::vector<double>>();
  LocalReducer group;
  for (const Advantage& estimator : registry.units()) {
    if (estimator.needs_values) continue;  // T15 and T16 have its values
    INFO(estimator.name);
    const AdvantageInput input{
        .layout = golden.layout(), .rewards = rewards, .uids = golden.uids, .baselines = baselines};
    const AdvantageParams params{.gamma = expected.at("gamma")};
    require_close(estimator.compute(input, params, group).advantages,
                  expected.at("values").at(std::string(estimator.name)).get<std::vector<double>>());
  }
}
