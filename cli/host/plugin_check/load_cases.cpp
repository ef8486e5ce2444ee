#include <dirent.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstring>
#include <fstream>
#include <set>

#include "core/base/executor.hpp"
#include "host/host_services.hpp"
#include "host/plugin.hpp"
#include "host/plugin_check/check_plugin.hpp"

namespace verlc {
namespace {

// Services as in a run, for one child.
struct Host {
  CachingAllocator allocator;
  InlineExecutor executor;
  LogService log{LogLevel::error};
  HostServices services{allocator, executor, log};
};

size_t entries_of(const char* folder) {
  DIR* open = ::opendir(folder);
  if (open == nullptr) return 0;
  size_t count = 0;
  while (::readdir(open) != nullptr) ++count;
  ::closedir(open);
  return count;
}

// What a plugin must leave as it is, as named values.
std::vector<std::pair<std::string, std::string>> process_state() {
  std::vector<std::pair<std::string, std::string>> state;
  char folder[4096] = "";
  state.emplace_back("working folder", ::getcwd(folder, sizeof folder) != nullptr ? folder : "");
  state.emplace_back("locale", std::setlocale(LC_ALL, nullptr));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  state.emplace_back("umask", std::to_string(mask));
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  ::sched_getaffinity(0, sizeof cpus, &cpus);
  state.emplace_back("affinity", std::string(reinterpret_cast<const char*>(&cpus), sizeof cpus));
  state.emplace_back("number of open files", std::to_string(entries_of("/proc/self/fd")));
  state.emplace_back("number of threads", std::to_string(entries_of("/proc/self/task")));
  std::string handlers;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    handlers += fmt::format("{:x} ", reinterpret_cast<uintptr_t>(action.sa_handler));
  }
  state.emplace_back("signal handlers", handlers);
  std::string environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment += std::string(*entry) + "\n";
  state.emplace_back("environment", environment);
  return state;
}

std::set<std::string> mapped_objects() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> names;
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.rfind('/');
    if (at != std::string::npos && line.find(".so") != std::string::npos) names.insert(line.substr(at + 1));
  }
  return names;
}

CaseResult loads(const PluginFile& file) {
  Host host;
  const auto begin = std::chrono::steady_clock::now();
  const std::shared_ptr<Plugin> plugin = Plugin::load(file, host.services.table());
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  const std::string text = fmt::format("{:.1f} ms", milliseconds);
  return {milliseconds > 100 ? Verdict::warn : Verdict::pass, text};
}

CaseResult keeps_state(const PluginFile& file) {
  Host host;
  const auto before = process_state();
  const std::shared_ptr<Plugin> plugin = Plugin::load(file, host.services.table());
  if (!plugin->warning().empty()) return {Verdict::fail, plugin->warning()};
  const auto after = process_state();
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i].second != after[i].second) return {Verdict::fail, "loading changed: " + before[i].first};
  return {};
}

CaseResult brings_no_runtime(const PluginFile& file) {
  Host host;
  const std::set<std::string> before = mapped_objects();
  const std::shared_ptr<Plugin> plugin = Plugin::load(file, host.services.table());
  for (const std::string& name : mapped_objects()) {
    if (before.contains(name)) continue;
    for (const char* prefix : {"libgomp", "libomp", "libiomp", "libmpi", "libnccl", "libpython"})
      if (name.starts_with(prefix)) return {Verdict::fail, "loading brings in " + name};
  }
  return {};
}

}  // namespace

std::vector<CheckCase> load_cases(const PluginFile& file) {
  std::vector<CheckCase> cases = {{"L01", "loads and opens, in 100 ms", {}},
                                  {"L02", "leaves the state of the process as it is", {}},
                                  {"L04", "brings in no second runtime", {}}};
  CaseResult (*const bodies[])(const PluginFile&) = {loads, keeps_state, brings_no_runtime};
  for (size_t i = 0; i < cases.size(); ++i)
    cases[i].result = file.usable() ? run_isolated([&] { return bodies[i](file); })
                                    : CaseResult{Verdict::skip, "its code is not run"};
  return cases;
}

}  // namespace verlc
