// A reward plugin behind the C ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/plugin.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// Borrowed for the call; see verlc_sample.
struct RewardSample {
  uint64_t uid = 0;
  uint64_t group = 0;
  std::span<const int32_t> tokens = {};
  std::string_view data_source = {};
  std::string_view prompt = {};
  std::string_view response = {};
  std::string_view reference = {};  ///< JSON: reward_model.ground_truth, verbatim
  std::string_view extra = {};      ///< JSON: extra_info, or empty
};

struct RewardScore {
  double reward = 0;
  bool ok = false;      ///< false = this sample could not be scored
  std::string message;  ///< why not
};

/// One call at a time.
class RewardPlugin {
 public:
  RewardPlugin(std::shared_ptr<Plugin> plugin, const std::string& config);
  RewardPlugin(const RewardPlugin&) = delete;
  RewardPlugin& operator=(const RewardPlugin&) = delete;
  ~RewardPlugin();

  /// One score per sample. A reward that is not finite is an Error naming the sample.
  Outcome score(std::span<const RewardSample> samples, std::vector<RewardScore>& scores);
  [[nodiscard]] const Plugin& plugin() const { return *plugin_; }

 private:
  std::shared_ptr<Plugin> plugin_;
  const verlc_reward_api* api_;
  verlc_reward* reward_ = nullptr;
};

}  // namespace verlc
