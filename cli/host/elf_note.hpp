// What a shared object says about itself, read from the file with pread: none of its code has run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace verlc {

/// The verlc note of a plugin.
struct PluginNote {
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  uint32_t min_host_minor = 0;
  std::string id;
  std::string version;
  std::vector<std::string> capabilities;
};

/// Facts of an ELF file. `problem` is empty when it is a 64-bit shared object for this machine whose tables
/// are sound.
struct ElfFacts {
  std::string problem;
  std::optional<PluginNote> note;
  std::string note_problem;  ///< why there is a note that can't be used
  std::string build_id;      ///< hexadecimal digits
  std::vector<std::string> needed;
  std::string runpath;
  std::vector<std::string> exported;  ///< names of defined global, weak and unique dynamic symbols
  std::vector<std::string> weak_or_unique;
  std::vector<std::string> versions_needed;  ///< "GLIBC_2.34", "GLIBCXX_3.4.30", ...
  bool text_relocations = false;
  bool executable_stack = false;
  bool static_tls = false;
  bool bind_now = false;
  bool no_delete = false;
};

/// Never throws for what the file contains; bounded work for any content. Throws Error(input) when the open
/// file can't be read. `fd` stays open.
ElfFacts read_elf_facts(int fd);

}  // namespace verlc
