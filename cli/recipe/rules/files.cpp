// Files that a recipe names exist. Their contents are read by the parts that use them.
#include <filesystem>

#include "recipe/rule.hpp"

namespace verlc {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

void rows(const RuleContext& c, const std::string& key, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code error;
    if (!is_file(file)) {
      c.problems.add(key, file, "the file does not exist",
                     "check the path; it is relative to the recipe's folder");
    } else if (fs::file_size(file, error) == 0) {
      c.problems.add(key, file, "the file is empty", "give a JSONL file with one row a line");
    }
  }
}

void train_files(const RuleContext& c) {
  rows(c, "data.train_files", c.recipe.data.train_files);
}
void val_files(const RuleContext& c) {
  rows(c, "data.val_files", c.recipe.data.val_files);
}

void model_folder(const RuleContext& c) {
  const fs::path folder = c.recipe.model.path;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    c.problems.add("model.path", folder.string(), "the model folder does not exist",
                   "give a Hugging Face folder; nothing is downloaded");
    return;
  }
  if (c.recipe.model.init != "checkpoint") return;
  if (!is_file(folder / "model.safetensors") && !is_file(folder / "model.safetensors.index.json"))
    c.problems.add("model.path", folder.string(),
                   "the folder has neither model.safetensors nor model.safetensors.index.json",
                   "give a folder with weights, or model.init = \"random\"");
}

void tokenizer_folder(const RuleContext& c) {
  const bool given = c.recipe.model.tokenizer_path != c.recipe.model.path;
  if (!given && c.problems.is_bad("model.path")) return;
  if (is_file(fs::path(c.recipe.model.tokenizer_path) / "tokenizer.json")) return;
  c.problems.add("model.tokenizer_path", c.recipe.model.tokenizer_path, "the folder has no tokenizer.json",
                 "give a folder with a tokenizer.json");
}

void plugin_lock(const RuleContext& c) {
  const std::string& lock = c.recipe.plugins.lock;
  if (lock.empty() || is_file(lock)) return;
  c.problems.add("plugins.lock", lock, "the file does not exist",
                 "write it with: sha256sum ENGINE.so PLUGIN.so > plugins.lock; or remove the key");
}

void reward_plugin(const RuleContext& c) {
  const std::string& plugin = c.recipe.reward.plugin;
  const bool is_path = plugin.find('/') != std::string::npos;
  if (plugin.empty() || !is_path || is_file(plugin)) return;
  c.problems.add("reward.plugin", plugin, "the plugin file does not exist", "build it, or check the path");
}

void plugin_paths(const RuleContext& c) {
  for (const std::string& path : c.recipe.plugins.paths) {
    std::error_code error;
    if (!fs::exists(path, error))
      c.problems.add("plugins.paths", path, "the file or folder does not exist",
                     "check the path, or remove it");
  }
}

}  // namespace

void add_rules_files(RuleSet& rules) {
  rules.push_back({"plugin lock", {"plugins.lock"}, plugin_lock});
  rules.push_back({"training files", {"data.train_files"}, train_files});
  rules.push_back({"validation files", {"data.val_files"}, val_files});
  rules.push_back({"model folder", {"model.path"}, model_folder});
  rules.push_back({"tokenizer folder", {"model.tokenizer_path"}, tokenizer_folder});
  rules.push_back({"reward plugin", {"reward.plugin"}, reward_plugin});
  rules.push_back({"plugin paths", {"plugins.paths"}, plugin_paths});
}

}  // namespace verlc
