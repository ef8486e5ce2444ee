// The plugin files of this machine: found in the trusted folders, checked and read, none of their code run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/elf_note.hpp"
#include "host/trust.hpp"

namespace verlc {

enum class PluginOrigin { builtin, system, user, explicit_path };
std::string_view origin_name(PluginOrigin origin);

/// One candidate file.
struct PluginFile {
  std::filesystem::path path;  ///< as found
  PluginOrigin origin = PluginOrigin::system;
  TrustVerdict trust;
  ElfFacts facts;
  std::string problem;  ///< why it can't be used, with both values; empty = usable
  [[nodiscard]] bool usable() const { return problem.empty(); }
  [[nodiscard]] std::string id() const { return facts.note ? facts.note->id : std::string(); }
  [[nodiscard]] bool offers(std::string_view capability) const;
};

struct PluginFolder {
  std::filesystem::path path;
  PluginOrigin origin = PluginOrigin::system;
};

/// <folder of the verlc binary>/../lib/verlc/{engines,plugins}; with `allow_user` also
/// $XDG_DATA_HOME/verlc/plugins (or ~/.local/share/...) and the absolute entries of VERLC_PLUGIN_PATH. User
/// folders are left out for a process with raised privileges. Never the working folder, never relative
/// entries.
std::vector<PluginFolder> plugin_folders(bool allow_user);
/// The folder lib/verlc beside the binary's folder.
std::filesystem::path library_folder();

/// Checks one file.
PluginFile inspect_plugin(const std::filesystem::path& path, PluginOrigin origin);

class PluginCatalog {
 public:
  /// Scans folders in order, the .so entries of each by ascending name; absent folders are skipped.
  explicit PluginCatalog(const std::vector<PluginFolder>& folders);

  /// All candidates, unusable ones too, in scan order.
  [[nodiscard]] const std::vector<PluginFile>& files() const { return files_; }
  /// The file for an id ("fsdp") or an absolute path ("/opt/x.so") that offers `capability`. With one id in
  /// several files: explicit path, then user, then system, then built-in folder; two files of equal standing
  /// are an error that names both. Throws Error(input) saying what was found instead: unusable files with
  /// that id and their reason, and the usable ids.
  [[nodiscard]] PluginFile find(std::string_view id_or_path, std::string_view capability) const;
  /// Pairs "first.so hides second.so" for reports.
  [[nodiscard]] std::vector<std::string> duplicates() const;

 private:
  std::vector<PluginFile> files_;
};

}  // namespace verlc
