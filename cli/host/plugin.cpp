#include "host/plugin.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/stat.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "core/base/error.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  fail_input({.what = what, .where = path.string(), .value = {}, .fix = {}});
}

#if defined(__SSE2__)
unsigned float_mode() {
  return _mm_getcsr() & ~0x3fu;
}  // without the exception flags
void set_float_mode(unsigned mode) {
  _mm_setcsr(mode);
}
#else
unsigned float_mode() {
  return 0;
}
void set_float_mode(unsigned) {}
#endif

// The name of a status, for messages.
const char* status_name(verlc_status status) {
  switch (status) {
    case VERLC_E_ARGUMENT:
      return "wrong argument";
    case VERLC_E_ABI:
      return "host and plugin do not fit";
    case VERLC_E_UNSUPPORTED:
      return "not supported";
    case VERLC_E_MEMORY_HOST:
      return "out of host memory";
    case VERLC_E_MEMORY_DEVICE:
      return "out of device memory";
    case VERLC_E_CANCELLED:
      return "cancelled";
    case VERLC_E_DEADLINE:
      return "too late";
    case VERLC_E_COMM:
      return "communication failed";
    case VERLC_E_IO:
      return "input or output failed";
    case VERLC_E_NUMERIC:
      return "not a finite number";
    case VERLC_E_STATE:
      return "not allowed in the present state";
    case VERLC_E_CONFIG:
      return "wrong configuration";
    default:
      return "internal fault";
  }
}

ErrorKind kind_of(verlc_status status) {
  if (status == VERLC_E_CONFIG || status == VERLC_E_ARGUMENT || status == VERLC_E_UNSUPPORTED)
    return ErrorKind::input;
  if (status == VERLC_E_MEMORY_HOST || status == VERLC_E_MEMORY_DEVICE) return ErrorKind::fit;
  return ErrorKind::run;
}

void check_mapped(void* symbol, const PluginFile& file) {
  Dl_info info{};
  struct stat mapped {};
  if (::dladdr(symbol, &info) == 0 || ::stat(info.dli_fname, &mapped) != 0 ||
      !(FileIdentity{mapped.st_dev, mapped.st_ino} == file.trust.identity))
    refuse(file.path, "the file that was loaded is not the one that was checked; it changed in between");
}

void check_table(const verlc_plugin* table, const PluginFile& file) {
  if (table == nullptr || !VERLC_HAS(table, verlc_plugin, shutdown) || table->capability == nullptr ||
      table->describe == nullptr || table->shutdown == nullptr)
    refuse(file.path, "its plugin table is missing, too short or has empty entries");
  if (table->abi_major != VERLC_ABI_MAJOR)
    refuse(file.path, fmt::format("its table says ABI major {}, its entry symbol {}", table->abi_major,
                                  VERLC_ABI_MAJOR));
  const std::string_view id = plugin::to_view(table->id);
  if (id != file.facts.note->id)
    refuse(file.path, fmt::format("its note says id '{}', its table '{}'", file.facts.note->id, id));
  for (const std::string& capability : file.facts.note->capabilities)
    if (table->capability(table->self, capability.c_str()) == nullptr)
      refuse(file.path, fmt::format("its note names the capability {}, its table has none", capability));
}

}  // namespace

Outcome check_call(std::string_view plugin, std::string_view call, verlc_status status,
                   const verlc_error& error) {
  if (status == VERLC_OK) return Outcome::done;
  if (status == VERLC_AGAIN) return Outcome::again;
  if (status == VERLC_END) return Outcome::end;
  if (status == VERLC_E_CANCELLED) return Outcome::cancelled;
  std::string what = error.message[0] != 0 ? std::string(error.message) : std::string(status_name(status));
  if (status > 0) what = fmt::format("unknown status {}", status);
  throw Error(
      kind_of(status),
      {.what = std::move(what), .where = fmt::format("plugin {}, {}", plugin, call), .value = {}, .fix = {}});
}

std::shared_ptr<Plugin> Plugin::load(const PluginFile& file, const verlc_host* host) {
  if (!file.usable()) refuse(file.path, file.problem);
  const unsigned mode = float_mode();
  void* handle = ::dlopen(file.trust.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const unsigned changed_mode = float_mode();
  if (changed_mode != mode) set_float_mode(mode);
  if (handle == nullptr) refuse(file.path, fmt::format("cannot load it: {}", ::dlerror()));
  void* symbol = ::dlsym(handle, "verlc_plugin_open_v1");
  if (symbol == nullptr) refuse(file.path, "it does not export verlc_plugin_open_v1");
  check_mapped(symbol, file);

  const verlc_plugin* table = nullptr;
  auto error = plugin::make_struct<verlc_error>();
  const auto open = reinterpret_cast<verlc_open_function>(symbol);
  const verlc_status status = open(host, &table, &error);
  if (status != VERLC_OK)
    refuse(file.path, fmt::format("open failed: {} ({})",
                                  error.message[0] != 0 ? error.message : "no message", status_name(status)));
  check_table(table, file);

  std::shared_ptr<Plugin> plugin(new Plugin);
  plugin->id_ = file.facts.note->id;
  plugin->path_ = file.trust.path;
  plugin->table_ = table;
  if (changed_mode != mode)
    plugin->warning_ = fmt::format(
        "loading {} changed the floating-point mode (MXCSR {:04x} to {:04x}; it was linked with "
        "-ffast-math); restored",
        file.path.string(), mode, changed_mode);
  return plugin;
}

Plugin::~Plugin() {
  if (table_ != nullptr) table_->shutdown(table_->self, nullptr);
}

std::string Plugin::version() const {
  return std::string(plugin::to_view(table_->version));
}

const void* Plugin::find_capability(const char* capability_id) const {
  const void* table = table_->capability(table_->self, capability_id);
  if (table == nullptr)
    fail_input({.what = fmt::format("plugin {} does not offer {}", id_, capability_id),
                .where = path_.string(),
                .value = {},
                .fix = {}});
  return table;
}

std::string Plugin::describe(const char* capability_id) const {
  std::string text;
  auto error = plugin::make_struct<verlc_error>();
  check_call(id_, "describe",
             table_->describe(table_->self, capability_id, plugin::append_to_string, &text, &error), error);
  return text;
}

}  // namespace verlc
