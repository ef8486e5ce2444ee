// verlc plugins list, verlc plugins check.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "host/plugin_catalog.hpp"
#include "host/plugin_check/check_plugin.hpp"

namespace verlc {
namespace {

struct PluginOptions {
  std::string file;
  bool json = false;
  bool user = false;
};

nlohmann::ordered_json to_json(const PluginFile& file) {
  nlohmann::ordered_json row = {{"path", file.path.string()},
                                {"origin", origin_name(file.origin)},
                                {"usable", file.usable()},
                                {"problem", file.problem},
                                {"build_id", file.facts.build_id}};
  if (file.facts.note) {
    row["id"] = file.facts.note->id;
    row["version"] = file.facts.note->version;
    row["capabilities"] = file.facts.note->capabilities;
  }
  return row;
}

std::string one_line(const PluginFile& file) {
  if (!file.usable()) return fmt::format("refused  {}: {}", file.path.string(), file.problem);
  return fmt::format("ok       {} {} ({}): {}  [{}, build {}]", file.facts.note->id, file.facts.note->version,
                     fmt::join(file.facts.note->capabilities, " "), file.path.string(),
                     origin_name(file.origin), file.facts.build_id.substr(0, 12));
}

int list(const PluginOptions& options) {
  const std::vector<PluginFolder> folders = plugin_folders(options.user);
  const PluginCatalog catalog(folders);
  if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const PluginFile& file : catalog.files()) rows.push_back(to_json(file));
    fmt::print("{}\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_done;
  }
  for (const PluginFile& file : catalog.files()) fmt::print("{}\n", one_line(file));
  for (const std::string& pair : catalog.duplicates()) fmt::print("note     {}\n", pair);
  if (catalog.files().empty()) {
    fmt::print("no plugins in");
    for (const PluginFolder& folder : folders) fmt::print(" {}", folder.path.string());
    fmt::print("\n");
  }
  return exit_done;
}

int check(const PluginOptions& options) {
  const std::vector<CheckCase> cases = check_plugin(options.file);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  size_t counts[4] = {};
  for (const CheckCase& entry : cases) {
    ++counts[static_cast<size_t>(entry.result.verdict)];
    const char* verdict = verdict_name(entry.result.verdict);
    rows.push_back(
        {{"id", entry.id}, {"what", entry.what}, {"verdict", verdict}, {"text", entry.result.text}});
    if (!options.json)
      fmt::print("{} {} {}{}{}\n", verdict, entry.id, entry.what, entry.result.text.empty() ? "" : ": ",
                 entry.result.text);
  }
  if (options.json) {
    fmt::print("{}\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{} passed, {} warned, {} failed, {} skipped\n", counts[0], counts[1], counts[2], counts[3]);
  }
  // S02 and S03 decide whether the file is a plugin of this host at all.
  const auto is_plugin = [](const CheckCase& entry) {
    return (entry.id != "S02" && entry.id != "S03") || entry.result.verdict != Verdict::fail;
  };
  if (!std::all_of(cases.begin(), cases.end(), is_plugin)) return exit_input;
  return counts[static_cast<size_t>(Verdict::fail)] == 0 ? exit_done : exit_failed;
}

}  // namespace

void command_plugins(CommandRegistry& registry) {
  const auto options = std::make_shared<PluginOptions>();
  CLI::App& group = registry.group("plugins", "list plugins and check one");
  CLI::App& listing = registry.add(
      "list", "every plugin file found, with its verdict", [options] { return list(*options); }, &group);
  listing.add_flag("--json", options->json, "print JSON");
  listing.add_flag("--user", options->user, "also look into the user's folders and VERLC_PLUGIN_PATH");
  CLI::App& checking = registry.add(
      "check", "test a plugin file against the ABI, in child processes",
      [options] { return check(*options); }, &group);
  checking.add_option("FILE", options->file, "the shared object")->required();
  checking.add_flag("--json", options->json, "print JSON");
}

}  // namespace verlc
