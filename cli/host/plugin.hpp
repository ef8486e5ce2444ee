// A loaded plugin: its table, its capabilities, its counted shutdown.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "host/plugin_catalog.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// What a call across the ABI came to when it did not fail.
enum class Outcome { done, again, end, cancelled };

/// VERLC_OK, AGAIN, END and E_CANCELLED become an Outcome; other statuses throw an Error whose `where` names
/// plugin and call: E_CONFIG and E_ARGUMENT kind input, E_MEMORY_* kind fit, the rest kind run.
Outcome check_call(std::string_view plugin, std::string_view call, verlc_status status,
                   const verlc_error& error);

class Plugin {
 public:
  /// Loads and opens `file`: dlopen(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), the mapped file compared with the
  /// checked one, floating-point mode restored, open, table checked against the note. Throws Error(input)
  /// naming file and reason. `host` must outlive the object.
  static std::shared_ptr<Plugin> load(const PluginFile& file, const verlc_host* host);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string version() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Not empty when loading changed the floating-point mode (it was restored).
  [[nodiscard]] const std::string& warning() const { return warning_; }
  /// A capability's table; throws Error(input) when the plugin doesn't have it or its table is too short.
  template <typename Table>
  [[nodiscard]] const Table* capability(const char* capability_id) const {
    return static_cast<const Table*>(find_capability(capability_id));
  }
  /// The describe() JSON of a capability.
  [[nodiscard]] std::string describe(const char* capability_id) const;

 private:
  Plugin() = default;
  [[nodiscard]] const void* find_capability(const char* capability_id) const;

  std::string id_;
  std::filesystem::path path_;
  std::string warning_;
  const verlc_plugin* table_ = nullptr;
};

}  // namespace verlc
