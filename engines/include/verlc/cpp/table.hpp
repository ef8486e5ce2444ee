// The plugin's own table. Part of verlc/plugin.hpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verlc/cpp/host.hpp"

namespace verlc::plugin {

/// One capability: its id, its table (static storage) and a function that gives its describe() JSON.
struct Capability {
  const char* id;
  const void* table;
  std::string (*describe)();
};

/// Storage of a verlc_plugin. Make one static object per shared object, call open() from the open function:
///   static PluginTable table("my-engine", "1.0", {{VERLC_CAPABILITY_TRAIN, &kTrainApi, describe_train}});
///   verlc_status my_open(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept {
///     return table.open(host, out, error);
///   }
class PluginTable {
 public:
  PluginTable(const char* id, const char* version, std::vector<Capability> capabilities)
      : capabilities_(std::move(capabilities)) {
    plugin_ = make_struct<verlc_plugin>();
    plugin_.abi_major = VERLC_ABI_MAJOR;
    plugin_.abi_minor = VERLC_ABI_MINOR;
    plugin_.id = to_abi(id);
    plugin_.version = to_abi(version);
    plugin_.build = to_abi("c++");
    plugin_.self = this;
    plugin_.capability = find_capability;
    plugin_.describe = describe;
    plugin_.shutdown = shutdown;
  }
  PluginTable(const PluginTable&) = delete;
  PluginTable& operator=(const PluginTable&) = delete;

  verlc_status open(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept {
    return guard(error, [&] {
      if (opened_++ == 0) host_ = Host(host);
      *out = &plugin_;
    });
  }
  /// Services of the first open; valid until the last shutdown.
  [[nodiscard]] const Host& host() const { return host_; }

 private:
  const Capability* find(std::string_view id) const {
    for (const Capability& capability : capabilities_)
      if (id == capability.id) return &capability;
    return nullptr;
  }
  static const void* find_capability(void* self, const char* id) noexcept {
    const Capability* found = id == nullptr ? nullptr : static_cast<PluginTable*>(self)->find(id);
    return found == nullptr ? nullptr : found->table;
  }
  static verlc_status describe(void* self, const char* id, verlc_sink sink, void* context,
                               verlc_error* error) noexcept {
    return guard(error, [&] {
      const Capability* found = id == nullptr ? nullptr : static_cast<PluginTable*>(self)->find(id);
      if (found == nullptr)
        throw Failure(VERLC_E_UNSUPPORTED, std::string("no capability ") + (id ? id : "(null)"));
      send_to_sink(sink, context, 0, found->describe());
    });
  }
  static verlc_status shutdown(void* self, verlc_error* error) noexcept {
    auto* table = static_cast<PluginTable*>(self);
    if (table->opened_ == 0) return set_error(error, VERLC_E_STATE, 0, "shutdown without open");
    --table->opened_;
    return VERLC_OK;
  }

  std::vector<Capability> capabilities_;
  verlc_plugin plugin_{};
  Host host_;
  int opened_ = 0;
};

}  // namespace verlc::plugin
