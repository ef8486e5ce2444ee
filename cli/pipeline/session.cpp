#include "pipeline/session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"

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

PluginIdentity identity_of(const PluginFile& file) {
  return {file.id(), file.facts.note ? file.facts.note->version : std::string(), file.trust.path,
          sha256_file(file.trust.path), file.facts.build_id};
}

// Ranks of several hosts may find different builds under one name.
void require_same_file(const PluginIdentity& plugin, ProcessGroup& group) {
  const std::vector<std::string> all = group.all_gather_text(plugin.sha256 + " " + plugin.path.string());
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r].substr(0, plugin.sha256.size()) == all[0].substr(0, plugin.sha256.size())) continue;
    fail_run({.what = "ranks have different files of the plugin " + plugin.id,
              .where = "plugin " + plugin.id,
              .value = fmt::format("rank 0: sha256 {}; rank {}: sha256 {}", all[0], r, all[r]),
              .fix = "install the same build on every host"});
  }
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
  if (!options.plugin_lock.empty()) lock_.emplace(options.plugin_lock);
  topology_.head.size = sizeof topology_;
  topology_.world = services_.comm().handle(*rank_.world);
  topology_.dp = topology_.world;
  topology_.device_type = VERLC_DEVICE_CPU;
}

std::shared_ptr<Plugin> Session::load_plugin(const std::string& id_or_path, const char* capability) {
  const PluginFile file = catalog_.find(id_or_path, capability);
  // The same file again (actor and reference) is hashed and compared once.
  const auto same = [&](const PluginIdentity& other) { return other.path == file.trust.path; };
  if (std::ranges::none_of(loaded_, same)) {
    PluginIdentity identity = identity_of(file);
    if (lock_) lock_->check(identity);
    require_same_file(identity, world());
    loaded_.push_back(std::move(identity));
  }
  return Plugin::load(file, services_.table());
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
  options.plugin_lock = recipe.plugins.lock;
  return options;
}

}  // namespace verlc::pipeline
