#include "pipeline/session.hpp"

#include <cstdio>

namespace verlc::pipeline {
namespace {

std::vector<PluginFolder> folders(const SessionOptions& options) {
  std::vector<PluginFolder> result = plugin_folders(options.allow_user_plugins);
  for (const std::string& path : options.plugin_paths)
    if (std::filesystem::is_directory(path)) result.push_back({path, PluginOrigin::explicit_path});
  return result;
}

RankContext join(const SessionOptions& options, Allocator& allocator, StartupLog& startup) {
  startup.enter("MPI");
  JoinOptions join = options.join;
  join.allocator = &allocator;
  RankContext context = join_ranks(join);
  startup.enter("plugin folders");
  context.world->watch_phases([&startup](const std::string& phase) { startup.enter(phase); });
  return context;
}

}  // namespace

Session::Session(const SessionOptions& options)
    : print_startup_(options.print_startup),
      rank_(join(options, allocator_, startup_)),
      pool_(rank_.threads),
      log_(options.log_level, rank_.size > 1 ? rank_.rank : -1),
      services_(allocator_, pool_, log_),
      sums_(*rank_.world),
      catalog_(folders(options)) {
  topology_.head.size = sizeof topology_;
  topology_.world = services_.comm().handle(*rank_.world);
  topology_.dp = topology_.world;
  topology_.device_type = VERLC_DEVICE_CPU;
}

std::shared_ptr<Plugin> Session::load_plugin(const std::string& id_or_path, const char* capability) {
  return Plugin::load(catalog_.find(id_or_path, capability), services_.table());
}

void Session::first_result(const char* result) {
  if (!startup_.finish(result)) return;
  world().watch_phases(nullptr);
  if (!print_startup_ || !is_root()) return;
  std::fputs(startup_.table().c_str(), stdout);
  std::fflush(stdout);
}

bool Session::stop_requested() {
  double flag = cancel().requested() ? 1.0 : 0.0;
  sums_.max({&flag, 1});
  return flag > 0;
}

SessionOptions session_options(const Recipe& recipe) {
  SessionOptions options;
  options.join.expected_ranks = static_cast<int>(recipe.trainer.ranks);
  options.join.threads_per_rank = static_cast<int>(recipe.trainer.threads_per_rank);
  options.allow_user_plugins = recipe.plugins.allow_user;
  options.plugin_paths = recipe.plugins.paths;
  return options;
}

}  // namespace verlc::pipeline
