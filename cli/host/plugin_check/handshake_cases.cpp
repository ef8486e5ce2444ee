#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "host/plugin.hpp"
#include "host/plugin_check/check_plugin.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

const void* no_service(void* /*self*/, const char* /*id*/) noexcept {
  return nullptr;
}

verlc_host bare_host() {
  auto host = plugin::make_struct<verlc_host>();
  host.abi_major = VERLC_ABI_MAJOR;
  host.abi_minor = VERLC_ABI_MINOR;
  host.version = {"check", 5};
  host.service = no_service;
  return host;
}

verlc_open_function entry_of(const PluginFile& file) {
  void* handle = ::dlopen(file.trust.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* symbol = handle == nullptr ? nullptr : ::dlsym(handle, "verlc_plugin_open_v1");
  if (symbol == nullptr)
    fail_input({.what = std::string("cannot load it: ") + ::dlerror(), .where = {}, .value = {}, .fix = {}});
  return reinterpret_cast<verlc_open_function>(symbol);
}

struct Opened {
  verlc_status status = VERLC_OK;
  const verlc_plugin* table = nullptr;
  verlc_error error = plugin::make_struct<verlc_error>();
};

Opened open_with(const PluginFile& file, const verlc_host* host) {
  Opened opened;
  opened.status = entry_of(file)(host, &opened.table, &opened.error);
  return opened;
}

CaseResult accepted(const Opened& opened) {
  if (opened.status == VERLC_OK && opened.table != nullptr) return {};
  return {Verdict::fail, fmt::format("status {}: {}", opened.status, opened.error.message)};
}

// The host's struct ends where memory ends: reading a member that isn't there dies.
CaseResult reads_within_bounds(const PluginFile& file) {
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<std::byte*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(pages + kPage, kPage, PROT_NONE);
  auto* host = reinterpret_cast<verlc_host*>(pages + kPage - sizeof(verlc_host));
  *host = bare_host();
  return accepted(open_with(file, host));
}

CaseResult accepts_larger_host(const PluginFile& file) {
  struct {
    verlc_host host;
    unsigned char tail[256];
  } grown{};
  grown.host = bare_host();
  grown.host.head.size = sizeof grown;
  std::memset(grown.tail, 0xab, sizeof grown.tail);
  return accepted(open_with(file, &grown.host));
}

CaseResult accepts_later_minor(const PluginFile& file) {
  verlc_host host = bare_host();
  host.abi_minor = 9;
  return accepted(open_with(file, &host));
}

CaseResult refuses_other_major(const PluginFile& file) {
  verlc_host host = bare_host();
  host.abi_major = VERLC_ABI_MAJOR + 1;
  const Opened opened = open_with(file, &host);
  if (opened.status != VERLC_E_ABI)
    return {Verdict::fail, fmt::format("status {}, not VERLC_E_ABI", opened.status)};
  if (opened.error.message[0] == 0) return {Verdict::fail, "no message"};
  return {Verdict::pass, opened.error.message};
}

CaseResult unknown_ids(const PluginFile& file) {
  const verlc_host host = bare_host();
  const Opened opened = open_with(file, &host);
  if (opened.table == nullptr) return accepted(opened);
  std::vector<std::string> ids = {"", "verlc.unknown/1"};
  for (const std::string& id : file.facts.note->capabilities) ids.push_back(id + "x");
  for (const std::string& id : ids)
    if (opened.table->capability(opened.table->self, id.c_str()) != nullptr)
      return {Verdict::fail, fmt::format("gives a table for '{}'", id)};
  return {};
}

CaseResult counted_open(const PluginFile& file) {
  const verlc_host host = bare_host();
  const verlc_plugin* table = nullptr;
  for (int i = 0; i < 3; ++i) {
    const Opened opened = open_with(file, &host);
    if (opened.status != VERLC_OK) return accepted(opened);
    table = opened.table;
  }
  for (int i = 0; i < 3; ++i) {
    auto error = plugin::make_struct<verlc_error>();
    if (const verlc_status status = table->shutdown(table->self, &error); status != VERLC_OK)
      return {Verdict::fail, fmt::format("shutdown {}: status {}: {}", i + 1, status, error.message)};
  }
  return {};
}

CaseResult table_complete(const PluginFile& file) {
  const verlc_host host = bare_host();
  const Opened opened = open_with(file, &host);
  if (opened.table == nullptr) return accepted(opened);
  const verlc_plugin& table = *opened.table;
  if (!VERLC_HAS(opened.table, verlc_plugin, shutdown)) return {Verdict::fail, "plugin table too short"};
  if (table.capability == nullptr || table.describe == nullptr || table.shutdown == nullptr)
    return {Verdict::fail, "plugin table has empty entries"};
  if (plugin::to_view(table.id) != file.facts.note->id)
    return {Verdict::fail, "ids of note and table differ"};
  for (const std::string& id : file.facts.note->capabilities) {
    const void* capability = table.capability(table.self, id.c_str());
    if (capability == nullptr) return {Verdict::fail, "the note names " + id + ", the table has none"};
    // Every capability table is head, self, then functions only.
    verlc_head head{};
    std::memcpy(&head, capability, sizeof head);
    for (size_t at = sizeof(verlc_head) + sizeof(void*); at + sizeof(void*) <= head.size;
         at += sizeof(void*)) {
      const void* function = nullptr;
      std::memcpy(&function, static_cast<const char*>(capability) + at, sizeof function);
      if (function == nullptr) return {Verdict::fail, fmt::format("entry at byte {} of {} is empty", at, id)};
    }
  }
  return {};
}

CaseResult describes_itself(const PluginFile& file) {
  const verlc_host host = bare_host();
  const Opened opened = open_with(file, &host);
  if (opened.table == nullptr) return accepted(opened);
  for (const std::string& id : file.facts.note->capabilities) {
    std::string text;
    auto error = plugin::make_struct<verlc_error>();
    if (opened.table->describe(opened.table->self, id.c_str(), plugin::append_to_string, &text, &error) !=
        VERLC_OK)
      return {Verdict::fail, id + ": " + error.message};
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return {Verdict::fail, id + ": describe gives no JSON object"};
    for (const char* key : {"config", "devices", "deterministic", "concurrent"})
      if (!json.contains(key)) return {Verdict::fail, fmt::format("{}: describe lacks \"{}\"", id, key)};
  }
  return {};
}

}  // namespace

std::vector<CheckCase> handshake_cases(const PluginFile& file) {
  struct Entry {
    const char* id;
    const char* what;
    CaseResult (*body)(const PluginFile&);
  };
  constexpr Entry kEntries[] = {
      {"H01", "reads the host's struct within its size, without services", reads_within_bounds},
      {"H02", "accepts a larger host struct", accepts_larger_host},
      {"H03", "accepts a later minor", accepts_later_minor},
      {"H04", "refuses another major with a message", refuses_other_major},
      {"H05", "gives no table for unknown ids", unknown_ids},
      {"H07", "open and shutdown are counted", counted_open},
      {"H08", "tables are complete and agree with the note", table_complete},
      {"H09", "describes its capabilities in JSON", describes_itself},
  };
  std::vector<CheckCase> cases;
  for (const Entry& entry : kEntries)
    cases.push_back({entry.id, entry.what,
                     file.usable() ? run_isolated([&] { return entry.body(file); })
                                   : CaseResult{Verdict::skip, "its code is not run"}});
  return cases;
}

}  // namespace verlc
