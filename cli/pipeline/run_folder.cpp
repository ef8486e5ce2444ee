#include "pipeline/run_folder.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/hash.hpp"

namespace verlc::pipeline {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "global_step_";

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder).generic_string());
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<uint64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits = name.substr(kPrefix.size());
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoull(digits);
}

std::string entry_problem(const fs::path& folder, const nlohmann::json& entry) {
  if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string())
    return "manifest.json is broken";
  const std::string name = entry["file"].get<std::string>();
  std::error_code fault;
  const uint64_t bytes = fs::file_size(folder / name, fault);
  if (fault) return name + " is absent";
  if (bytes != entry.value("bytes", uint64_t{0})) return name + " has " + std::to_string(bytes) + " bytes";
  if (digest_file(folder / name) != entry.value("xxh3_128", std::string())) return name + " was altered";
  return {};
}

}  // namespace

fs::path RunFolder::set_aside() const {
  std::error_code fault;
  if (!fs::exists(root_, fault) || fs::is_empty(root_, fault)) return {};
  for (int i = 1;; ++i) {
    const fs::path target = root_.string() + "." + std::to_string(i);
    if (fs::exists(target)) continue;
    fs::rename(root_, target, fault);
    if (fault)
      fail_run({.what = "cannot move the earlier run aside: " + fault.message(),
                .where = root_.string(),
                .value = target.string(),
                .fix = {}});
    return target;
  }
}

void write_manifest(const fs::path& folder) {
  nlohmann::json entries = nlohmann::json::array();
  for (const std::string& file : files_below(folder))
    entries.push_back(
        {{"file", file}, {"bytes", fs::file_size(folder / file)}, {"xxh3_128", digest_file(folder / file)}});
  write_file(folder / "manifest.json", nlohmann::json{{"files", entries}}.dump(1) + "\n");
}

std::string checkpoint_problem(const fs::path& folder) {
  if (!fs::is_regular_file(folder / "manifest.json")) return "it has no manifest.json: saving it was cut off";
  const nlohmann::json manifest = nlohmann::json::parse(read_file(folder / "manifest.json"), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_array())
    return "manifest.json is broken";
  for (const nlohmann::json& entry : manifest["files"]) {
    std::string problem = entry_problem(folder, entry);
    if (!problem.empty()) return problem;
  }
  return {};
}

std::optional<fs::path> newest_checkpoint(const fs::path& checkpoints, std::vector<std::string>* skipped) {
  std::map<uint64_t, fs::path> found;
  std::error_code fault;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints, fault))
    if (const std::optional<uint64_t> step = step_of(entry.path())) found[*step] = entry.path();
  for (auto it = found.rbegin(); it != found.rend(); ++it) {
    const std::string problem = checkpoint_problem(it->second);
    if (problem.empty()) return it->second;
    if (skipped != nullptr) skipped->push_back(it->second.string() + ": " + problem);
  }
  return std::nullopt;
}

uint64_t checkpoint_step(const fs::path& folder) {
  fs::path named = folder;
  if (named.filename().empty()) named = named.parent_path();
  if (const std::optional<uint64_t> step = step_of(named)) return *step;
  fail_input({.what = "is no checkpoint folder",
              .where = folder.string(),
              .value = {},
              .fix = "name a folder global_step_N of a run"});
}

}  // namespace verlc::pipeline
