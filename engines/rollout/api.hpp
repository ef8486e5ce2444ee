// The engine behind the C table of verlc.rollout/1.
#pragma once

#include <string>

#include "verlc/plugin.hpp"

namespace verlc::rollout {

/// The body of the plugin's open function: gives the verlc_plugin of this engine.
verlc_status open_plugin(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept;

inline constexpr const char* kPluginId = "rollout";
inline constexpr const char* kPluginVersion = "0.1.0";

}  // namespace verlc::rollout
