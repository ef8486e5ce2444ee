// How many bytes a configuration will need, from config.json alone.
#pragma once

#include <string>
#include <string_view>

#include "rollout/config.hpp"

namespace verlc::rollout {

/// workload: JSON {"ranks", "tokens", "sequences", "longest"}; longest (prompt and response, 0 or absent =
/// the configuration's) shortens max_model_len. Returns {"phases": {"rollout": {category: bytes}, "update":
/// {..}, "sleep": {..}}}.
std::string estimate_rollout(const RolloutConfig& config, std::string_view workload, int64_t free_bytes);

}  // namespace verlc::rollout
