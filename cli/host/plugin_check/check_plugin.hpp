// The conformance check behind `verlc plugins check FILE.so`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/plugin_catalog.hpp"

namespace verlc {

enum class Verdict { pass, warn, fail, skip };
const char* verdict_name(Verdict verdict);

struct CaseResult {
  Verdict verdict = Verdict::pass;
  std::string text;  ///< values found, or the reason
};

struct CheckCase {
  std::string id;    ///< "S01"
  std::string what;  ///< the rule, one line
  CaseResult result;
};

/// Runs `body` in a child process with a time limit: a crash, an exit or a hang of the plugin is a failed
/// case.
CaseResult run_isolated(const std::function<CaseResult()>& body);

/// S: the file alone, nothing executed.
std::vector<CheckCase> static_cases(const PluginFile& file);
/// L, H: loading and handshake, each in a child.
std::vector<CheckCase> load_cases(const PluginFile& file);
std::vector<CheckCase> handshake_cases(const PluginFile& file);
/// R: the reward capability, each in a child; skipped when the plugin has none.
std::vector<CheckCase> reward_cases(const PluginFile& file);

/// All cases in order. L, H and R are skipped when the file isn't usable: its code is then not run. Throws
/// Error(input) when there is no such file.
std::vector<CheckCase> check_plugin(const std::filesystem::path& path);

}  // namespace verlc
