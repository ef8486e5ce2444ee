// Calls that the tables of both engine capabilities have in the same form.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "host/plugin.hpp"
#include "verlc/plugin.hpp"

namespace verlc {

/// The estimate of an engine as JSON; see estimate in plugin.h.
template <typename Api>
std::string call_estimate(const Plugin& plugin, const Api& api, const std::string& config,
                          const std::string& workload) {
  std::string text;
  auto error = plugin::make_struct<verlc_error>();
  check_call(plugin.id(), "estimate",
             api.estimate(api.self, plugin::to_abi(config), plugin::to_abi(workload),
                          plugin::append_to_string, &text, &error),
             error);
  return text;
}

/// An engine's memory by category; empty when it leaves the count to the host's memory service.
template <typename Api, typename Instance>
std::vector<verlc_memory_stat> call_memory_stats(const Plugin& plugin, const Api& api, Instance* instance) {
  if (api.memory_stats == nullptr) return {};
  std::vector<verlc_memory_stat> stats(64, plugin::make_struct<verlc_memory_stat>());
  std::vector<verlc_memory_stat*> pointers;
  for (verlc_memory_stat& stat : stats) pointers.push_back(&stat);
  uint32_t count = 0;
  auto error = plugin::make_struct<verlc_error>();
  check_call(plugin.id(), "memory_stats",
             api.memory_stats(instance, pointers.data(), static_cast<uint32_t>(stats.size()), &count, &error),
             error);
  stats.resize(std::min<size_t>(count, stats.size()));
  return stats;
}

}  // namespace verlc
