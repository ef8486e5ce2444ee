#include "host/reward_plugin.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "core/base/error.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

verlc_sample to_abi_sample(const RewardSample& sample) {
  auto row = plugin::make_struct<verlc_sample>();
  row.uid = sample.uid;
  row.group = sample.group;
  row.tokens = sample.tokens.data();
  row.num_tokens = sample.tokens.size();
  row.data_source = plugin::to_abi(sample.data_source);
  row.prompt = plugin::to_abi(sample.prompt);
  row.response = plugin::to_abi(sample.response);
  row.reference = plugin::to_abi(sample.reference);
  row.extra = plugin::to_abi(sample.extra);
  return row;
}

}  // namespace

RewardPlugin::RewardPlugin(std::shared_ptr<Plugin> plugin, const std::string& config)
    : plugin_(std::move(plugin)), api_(plugin_->capability<verlc_reward_api>(VERLC_CAPABILITY_REWARD)) {
  if (!VERLC_HAS(api_, verlc_reward_api, score))
    fail_input(
        {.what = "its reward table is too short", .where = plugin_->path().string(), .value = {}, .fix = {}});
  auto error = plugin::make_struct<verlc_error>();
  check_call(plugin_->id(), "create", api_->create(api_->self, plugin::to_abi(config), &reward_, &error),
             error);
}

RewardPlugin::~RewardPlugin() {
  if (reward_ != nullptr) api_->destroy(reward_);
}

Outcome RewardPlugin::score(std::span<const RewardSample> samples, std::vector<RewardScore>& scores) {
  std::vector<verlc_sample> rows;
  std::vector<verlc_score> results(samples.size(), plugin::make_struct<verlc_score>());
  std::vector<const verlc_sample*> row_pointers;
  std::vector<verlc_score*> result_pointers;
  rows.reserve(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    rows.push_back(to_abi_sample(samples[i]));
    row_pointers.push_back(&rows[i]);
    result_pointers.push_back(&results[i]);
  }
  auto error = plugin::make_struct<verlc_error>();
  const Outcome outcome =
      check_call(plugin_->id(), "score",
                 api_->score(reward_, row_pointers.data(), static_cast<uint32_t>(samples.size()),
                             result_pointers.data(), 0, &error),
                 error);
  if (outcome != Outcome::done) return outcome;
  scores.assign(samples.size(), {});
  for (size_t i = 0; i < samples.size(); ++i) {
    const verlc_score& result = results[i];
    if (result.ok != 0 && !std::isfinite(result.reward))
      fail_run({.what = "the reward is not a finite number",
                .where = fmt::format("plugin {}, score, sample {}", plugin_->id(), samples[i].uid),
                .value = fmt::format("{}", result.reward),
                .fix = {}});
    scores[i] = {.reward = result.reward,
                 .ok = result.ok != 0,
                 .message = {result.message, strnlen(result.message, sizeof result.message)}};
  }
  return Outcome::done;
}

}  // namespace verlc
