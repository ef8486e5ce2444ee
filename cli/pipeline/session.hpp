// What a process of the program holds while it uses engines: rank, memory, threads, services, plugins.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/group_reducer.hpp"
#include "core/base/thread_pool.hpp"
#include "core/memory/caching_allocator.hpp"
#include "host/host_services.hpp"
#include "host/plugin.hpp"
#include "host/plugin_catalog.hpp"
#include "host/plugin_lock.hpp"
#include "launch/rank_context.hpp"
#include "launch/startup_log.hpp"
#include "recipe/recipe.hpp"

namespace verlc::pipeline {

/// Reductions over the ranks of a group.
class GroupSums final : public GroupReducer {
 public:
  explicit GroupSums(ProcessGroup& group) : group_(group) {}
  void sum(std::span<double> values) override { group_.all_reduce(values, ReduceOp::sum); }
  void max(std::span<double> values) override { group_.all_reduce(values, ReduceOp::max); }
  void min(std::span<double> values) override { group_.all_reduce(values, ReduceOp::min); }

 private:
  ProcessGroup& group_;
};

struct SessionOptions {
  JoinOptions join;
  bool allow_user_plugins = false;
  std::vector<std::string> plugin_paths;
  std::string plugin_lock;  ///< file; empty = any trusted plugin
  LogLevel log_level = LogLevel::warn;
  bool print_startup = false;  ///< rank 0 tells where the time went until the first result
};

/// Lives from before the first engine to after the last.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] RankContext& rank() { return rank_; }
  [[nodiscard]] ProcessGroup& world() { return *rank_.world; }
  [[nodiscard]] GroupReducer& reducer() { return sums_; }
  [[nodiscard]] bool is_root() const { return rank_.rank == 0; }
  [[nodiscard]] HostServices& services() { return services_; }
  /// The team that engines compute on.
  [[nodiscard]] Executor& threads() { return pool_; }
  [[nodiscard]] CancelService& cancel() { return services_.cancel(); }
  [[nodiscard]] const verlc_topology& topology() const { return topology_; }
  /// Loads the plugin with this id or path that offers `capability`. Collective: an Error(run) on every rank
  /// when ranks found different files. A file that the lock does not list is an Error(input), before any of
  /// its code runs.
  std::shared_ptr<Plugin> load_plugin(const std::string& id_or_path, const char* capability);
  /// What was loaded so far, in order, each file once.
  [[nodiscard]] const std::vector<PluginIdentity>& loaded_plugins() const { return loaded_; }
  /// The run has its first result ("first response"): the start is over. Later calls do nothing.
  void first_result(const char* result);
  /// True on every rank when any rank was asked to stop. Collective.
  bool stop_requested();

 private:
  CachingAllocator allocator_;
  StartupLog startup_;
  bool print_startup_;
  RankContext rank_;
  ThreadPool pool_;
  LogService log_;
  HostServices services_;
  GroupSums sums_;
  PluginCatalog catalog_;
  std::optional<PluginLock> lock_;
  std::vector<PluginIdentity> loaded_;
  verlc_topology topology_{};
};

/// Options of a run by a recipe.
SessionOptions session_options(const Recipe& recipe);

}  // namespace verlc::pipeline
