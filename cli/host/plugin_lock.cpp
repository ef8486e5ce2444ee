#include "host/plugin_lock.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/file.hpp"

namespace verlc {
namespace {

constexpr size_t kDigits = 64;

bool is_hash(const std::string& text) {
  return text.size() == kDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

PluginLock::PluginLock(const std::filesystem::path& file) : file_(file) {
  std::istringstream lines(read_file(file));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string hash, name;
    if (!(words >> hash) || hash.front() == '#') continue;
    words >> name;
    if (!name.empty() && name.front() == '*') name.erase(0, 1);  // sha256sum's mark of binary mode
    if (!is_hash(hash) || name.empty())
      fail_input({.what = "not a line of a plugin lock: a SHA-256 and a file name are expected",
                  .where = fmt::format("{}:{}", file.string(), number),
                  .value = line,
                  .fix = "write the lock with: sha256sum FILE.so ... > " + file.filename().string()});
    names_[hash] = name;
  }
}

void PluginLock::check(const PluginIdentity& plugin) const {
  if (names_.contains(plugin.sha256)) return;
  const std::string name = plugin.path.filename().string();
  std::string listed = "the lock has no line for " + name;
  for (const auto& [hash, path] : names_)
    if (std::filesystem::path(path).filename() == name) listed = "the lock lists " + name + " as " + hash;
  fail_input({.what = "the plugin is not one that the lock allows; " + listed,
              .where = plugin.path.string(),
              .value = "sha256 " + plugin.sha256,
              .fix = fmt::format("restore the file, or after looking at it add its line: sha256sum {} >> {}",
                                 plugin.path.string(), file_.string())});
}

}  // namespace verlc
