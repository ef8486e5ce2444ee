#include "host/plugin_catalog.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "core/base/error.hpp"
#include "verlc/plugin.h"

namespace verlc {
namespace {

constexpr std::string_view kEntrySymbol = "verlc_plugin_open_v1";

std::string abi_problem(const PluginNote& note) {
  if (note.abi_major != VERLC_ABI_MAJOR)
    return fmt::format(
        "it is built for plugin ABI {}.{}, this verlc has {}.{}: the major versions must be equal",
        note.abi_major, note.abi_minor, VERLC_ABI_MAJOR, VERLC_ABI_MINOR);
  if (note.min_host_minor > VERLC_ABI_MINOR)
    return fmt::format("it is too new: it needs plugin ABI {}.{} or later, this verlc has {}.{}",
                       note.abi_major, note.min_host_minor, VERLC_ABI_MAJOR, VERLC_ABI_MINOR);
  return {};
}

std::string file_problem(const ElfFacts& facts) {
  if (!facts.problem.empty()) return facts.problem;
  if (!facts.note_problem.empty()) return facts.note_problem;
  if (!facts.note)
    return "it is not a verlc plugin: it has no verlc note (see VERLC_PLUGIN in verlc/plugin.h)";
  const std::string abi = abi_problem(*facts.note);
  if (!abi.empty()) return abi;
  if (std::find(facts.exported.begin(), facts.exported.end(), kEntrySymbol) == facts.exported.end() &&
      !facts.exported.empty())
    return fmt::format("it has a verlc note but does not export {}", kEntrySymbol);
  for (const std::string& needed : facts.needed)
    if (needed.starts_with("libmpi"))
      return fmt::format("it links {}: a plugin gets communication from the host and links no MPI", needed);
  return {};
}

// Privileges beyond the caller's own: what the environment says is then not to be followed.
bool raised_privileges() {
  return ::getauxval(AT_SECURE) != 0 || ::geteuid() != ::getuid();
}

void add_user_folders(std::vector<PluginFolder>& folders) {
  if (raised_privileges()) return;
  const char* data = ::secure_getenv("XDG_DATA_HOME");
  const char* home = ::secure_getenv("HOME");
  if (data != nullptr && data[0] == '/') {
    folders.push_back({std::filesystem::path(data) / "verlc/plugins", PluginOrigin::user});
  } else if (home != nullptr && home[0] == '/') {
    folders.push_back({std::filesystem::path(home) / ".local/share/verlc/plugins", PluginOrigin::user});
  }
  const char* list = ::secure_getenv("VERLC_PLUGIN_PATH");
  std::string entry;
  for (const char c : std::string(list == nullptr ? "" : list) + ":") {
    if (c != ':') {
      entry += c;
      continue;
    }
    if (!entry.empty() && entry.front() == '/') folders.push_back({entry, PluginOrigin::user});
    entry.clear();
  }
}

int standing(PluginOrigin origin) {
  return static_cast<int>(origin);
}  // the enum's order is the order of preference

}  // namespace

std::string_view origin_name(PluginOrigin origin) {
  constexpr std::string_view kNames[] = {"built-in", "system", "user", "path"};
  return kNames[static_cast<size_t>(origin)];
}

bool PluginFile::offers(std::string_view capability) const {
  return facts.note && std::find(facts.note->capabilities.begin(), facts.note->capabilities.end(),
                                 capability) != facts.note->capabilities.end();
}

static std::filesystem::path program_file() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code);
}

std::filesystem::path library_folder() {
  return (program_file().parent_path().parent_path() / "lib" / "verlc").lexically_normal();
}

std::vector<PluginFolder> plugin_folders(bool allow_user) {
  const std::filesystem::path library = library_folder();
  std::vector<PluginFolder> folders = {{library / "engines", PluginOrigin::builtin},
                                       {library / "plugins", PluginOrigin::system}};
  if (allow_user) add_user_folders(folders);
  return folders;
}

PluginFile inspect_plugin(const std::filesystem::path& path, PluginOrigin origin) {
  PluginFile file;
  file.path = path;
  file.origin = origin;
  // What lies beside the program is judged by the program's own place.
  const bool beside = origin == PluginOrigin::builtin || origin == PluginOrigin::system;
  const std::filesystem::path program = program_file();
  file.trust =
      beside ? check_builtin_trust(path, program.parent_path().parent_path(), program) : check_trust(path);
  if (!file.trust.trusted()) {
    file.problem = file.trust.reason;
    if (file.trust.path.empty()) return file;
  }
  const int fd = ::open(file.trust.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (file.problem.empty()) file.problem = fmt::format("cannot open it: {}", std::strerror(errno));
    return file;
  }
  file.facts = read_elf_facts(fd);
  ::close(fd);
  if (file.problem.empty()) file.problem = file_problem(file.facts);
  return file;
}

PluginCatalog::PluginCatalog(const std::vector<PluginFolder>& folders) {
  for (const PluginFolder& folder : folders) {
    std::vector<std::filesystem::path> entries;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(folder.path, code), end; !code && entry != end;
         entry.increment(code))
      if (entry->path().extension() == ".so") entries.push_back(entry->path());
    std::sort(entries.begin(), entries.end());
    for (const std::filesystem::path& entry : entries) files_.push_back(inspect_plugin(entry, folder.origin));
  }
}

PluginFile PluginCatalog::find(std::string_view id_or_path, std::string_view capability) const {
  if (id_or_path.find('/') != std::string_view::npos) {
    PluginFile file = inspect_plugin(std::filesystem::path(id_or_path), PluginOrigin::explicit_path);
    if (!file.usable())
      fail_input({.what = file.problem, .where = std::string(id_or_path), .value = {}, .fix = {}});
    if (!file.offers(capability))
      fail_input({.what = fmt::format("plugin {} does not offer {}", file.id(), capability),
                  .where = std::string(id_or_path),
                  .value = fmt::format("{}", fmt::join(file.facts.note->capabilities, " ")),
                  .fix = {}});
    return file;
  }
  const PluginFile* best = nullptr;
  std::string refused;
  std::vector<std::string> ids;
  for (const PluginFile& file : files_) {
    const bool named = file.id() == id_or_path || (!file.facts.note && file.path.stem() == id_or_path);
    if (named && !file.usable())
      refused += fmt::format("; {} was refused: {}", file.path.string(), file.problem);
    if (!file.usable() || !file.offers(capability)) continue;
    ids.push_back(file.id());
    if (!named) continue;
    if (best != nullptr && best->origin == file.origin)
      fail_input({.what = fmt::format("two plugins have the id {}: {} and {}", id_or_path,
                                      best->path.string(), file.path.string()),
                  .where = {},
                  .value = {},
                  .fix = "remove one, or name the file by its absolute path"});
    if (best == nullptr || standing(file.origin) > standing(best->origin)) best = &file;
  }
  if (best != nullptr) return *best;
  fail_input(
      {.what = fmt::format("no plugin '{}' that offers {}{}", id_or_path, capability, refused),
       .where = {},
       .value = {},
       .fix = ids.empty() ? "see verlc plugins list" : fmt::format("use one of: {}", fmt::join(ids, ", "))});
}

std::vector<std::string> PluginCatalog::duplicates() const {
  std::vector<std::string> pairs;
  for (size_t i = 0; i < files_.size(); ++i) {
    for (size_t j = i + 1; j < files_.size(); ++j) {
      if (!files_[i].usable() || !files_[j].usable() || files_[i].id() != files_[j].id()) continue;
      const bool equal = files_[i].origin == files_[j].origin;
      const PluginFile& winner =
          standing(files_[j].origin) > standing(files_[i].origin) ? files_[j] : files_[i];
      const PluginFile& other = &winner == &files_[i] ? files_[j] : files_[i];
      pairs.push_back(fmt::format("{} {} {} (both have the id {})", winner.path.string(),
                                  equal ? "stands against" : "hides", other.path.string(), winner.id()));
    }
  }
  return pairs;
}

}  // namespace verlc
