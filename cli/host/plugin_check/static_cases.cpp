#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstdlib>

#include "host/plugin_check/check_plugin.hpp"

namespace verlc {
namespace {

CaseResult passed_if(bool holds, std::string reason) {
  return holds ? CaseResult{} : CaseResult{Verdict::fail, std::move(reason)};
}

CaseResult check_needed(const ElfFacts& facts) {
  std::vector<std::string> refused;
  std::vector<std::string> doubtful;
  for (const std::string& name : facts.needed) {
    for (const char* prefix : {"libmpi", "libpython", "libnccl", "libtcmalloc", "libjemalloc"})
      if (name.starts_with(prefix)) refused.push_back(name);
    for (const char* prefix : {"libcuda.so", "libgomp", "libomp", "libiomp"})
      if (name.starts_with(prefix)) doubtful.push_back(name);
  }
  if (!refused.empty()) return {Verdict::fail, fmt::format("links {}", fmt::join(refused, ", "))};
  if (!doubtful.empty()) return {Verdict::warn, fmt::format("links {}", fmt::join(doubtful, ", "))};
  return {Verdict::pass, fmt::format("{}", fmt::join(facts.needed, " "))};
}

// "2.34" > "2.4": numbers between dots.
bool version_above(const std::string& a, const std::string& b) {
  const char* at_a = a.c_str();
  const char* at_b = b.c_str();
  while (*at_a != 0 || *at_b != 0) {
    char* end_a = nullptr;
    char* end_b = nullptr;
    const long number_a = std::strtol(at_a, &end_a, 10);
    const long number_b = std::strtol(at_b, &end_b, 10);
    if (number_a != number_b) return number_a > number_b;
    if (end_a == at_a && end_b == at_b) return false;
    at_a = *end_a == '.' ? end_a + 1 : end_a;
    at_b = *end_b == '.' ? end_b + 1 : end_b;
  }
  return false;
}

CaseResult check_versions(const ElfFacts& facts) {
  const std::string host = ::gnu_get_libc_version();
  std::string highest = "0";
  for (const std::string& version : facts.versions_needed)
    if (version.starts_with("GLIBC_2") && version_above(version.substr(6), highest))
      highest = version.substr(6);
  if (version_above(highest, host))
    return {Verdict::fail,
            fmt::format("needs GLIBC_{}, this host has {}: build it on an older system", highest, host)};
  return {Verdict::pass, fmt::format("GLIBC_{} of {}", highest, host)};
}

CaseResult check_link_flags(const ElfFacts& facts) {
  std::vector<std::string> missing;
  if (!facts.bind_now) missing.emplace_back("-z now");
  if (!facts.no_delete) missing.emplace_back("-z nodelete");
  if (facts.build_id.empty()) missing.emplace_back("--build-id");
  if (!missing.empty()) return {Verdict::warn, fmt::format("linked without {}", fmt::join(missing, ", "))};
  return {Verdict::pass, "build id " + facts.build_id};
}

}  // namespace

std::vector<CheckCase> static_cases(const PluginFile& file) {
  const ElfFacts& facts = file.facts;
  std::vector<CheckCase> cases;
  cases.push_back(
      {"S01", "file and folders are trusted", passed_if(file.trust.trusted(), file.trust.reason)});
  std::string elf = facts.problem;
  if (elf.empty() && facts.text_relocations) elf = "has text relocations: compile with -fPIC";
  if (elf.empty() && facts.executable_stack) elf = "asks for an executable stack: link with -z noexecstack";
  cases.push_back({"S02", "sound shared object for this machine", passed_if(elf.empty(), elf)});
  CaseResult note{Verdict::fail, file.problem};
  if (file.usable())
    note = {Verdict::pass, fmt::format("{} {}, ABI {}.{}, offers {}", facts.note->id, facts.note->version,
                                       facts.note->abi_major, facts.note->abi_minor,
                                       fmt::join(facts.note->capabilities, " "))};
  cases.push_back({"S03", "verlc note, ABI inside this host's range", note});
  cases.push_back({"S04", "exports exactly one symbol",
                   passed_if(facts.exported == std::vector<std::string>{"verlc_plugin_open_v1"},
                             fmt::format("exports {}: link with verlc/plugin.map", facts.exported.size()))});
  cases.push_back({"S05", "no weak or unique export",
                   passed_if(facts.weak_or_unique.empty(),
                             fmt::format("{} such, first {}", facts.weak_or_unique.size(),
                                         facts.weak_or_unique.empty() ? "" : facts.weak_or_unique[0]))});
  cases.push_back({"S06", "links no MPI, NCCL, Python or allocator", check_needed(facts)});
  cases.push_back({"S07", "C library new enough", check_versions(facts)});
  const bool own_folder = facts.runpath.empty() || facts.runpath.starts_with("$ORIGIN");
  cases.push_back({"S08", "run path is $ORIGIN or empty",
                   passed_if(own_folder && facts.runpath.find(':') == std::string::npos, facts.runpath)});
  cases.push_back({"S09", "no static thread-local storage",
                   passed_if(!facts.static_tls, "compiled with -ftls-model=initial-exec")});
  cases.push_back({"S10", "bound at load, never unloaded, build id", check_link_flags(facts)});
  return cases;
}

}  // namespace verlc
