// plugins.lock: the plugin files that a run may load, by SHA-256.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace verlc {

/// What a loaded plugin file is, for a lock, a manifest and a comparison between ranks.
struct PluginIdentity {
  std::string id;
  std::string version;
  std::filesystem::path path;
  std::string sha256;    ///< 64 hexadecimal digits
  std::string build_id;  ///< hexadecimal digits; empty when the file has none
};

/// Lines of `sha256sum`: 64 hexadecimal digits, spaces, a file name. Empty lines and lines after # are
/// skipped.
class PluginLock {
 public:
  /// Reads `file`. Throws Error(input) naming file and line of what is not such a line.
  explicit PluginLock(const std::filesystem::path& file);

  /// Throws Error(input) unless the lock lists the hash; the name only says which line was meant.
  void check(const PluginIdentity& plugin) const;

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> names_;  // by hash
};

}  // namespace verlc
