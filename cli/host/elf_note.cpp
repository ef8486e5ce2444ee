#include "host/elf_note.hpp"

#include <elf.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include "core/base/error.hpp"
#include "verlc/plugin.h"

namespace verlc {
namespace {

// A file may lie about every size; these bound the work.
constexpr uint64_t kMostSections = 4096;
constexpr uint64_t kMostSymbols = 1 << 20;
constexpr uint64_t kMostStrings = 64 << 20;
constexpr uint64_t kMostNotes = 1 << 16;

// Reads through pread; a read outside the file gives nothing.
class ElfFile {
 public:
  explicit ElfFile(int fd) : fd_(fd) {
    struct stat info {};
    if (::fstat(fd_, &info) != 0)
      fail_input(
          {.what = std::string("cannot read: ") + std::strerror(errno), .where = {}, .value = {}, .fix = {}});
    size_ = static_cast<uint64_t>(info.st_size);
  }
  [[nodiscard]] bool inside(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  bool read(uint64_t offset, void* into, uint64_t bytes) const {
    if (!inside(offset, bytes)) return false;
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
      const ssize_t got = ::pread(fd_, at, bytes, static_cast<off_t>(offset));
      if (got <= 0) return false;
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
    return true;
  }
  template <typename T>
  bool read_array(uint64_t offset, uint64_t count, std::vector<T>& into) const {
    if (count > size_ / sizeof(T) || !inside(offset, count * sizeof(T))) return false;
    into.resize(count);
    return read(offset, into.data(), count * sizeof(T));
  }

 private:
  int fd_;
  uint64_t size_ = 0;
};

// A string table: at() is safe for every offset.
class Strings {
 public:
  bool load(const ElfFile& file, uint64_t offset, uint64_t size) {
    return size <= kMostStrings && file.read_array(offset, size, bytes_);
  }
  [[nodiscard]] std::string at(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, std::find(begin, bytes_.end(), '\0')};
  }

 private:
  std::vector<char> bytes_;
};

std::string fixed_text(const char* bytes, size_t capacity) {
  return {bytes, strnlen(bytes, capacity)};
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> result;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      result.push_back(std::move(word));
      word.clear();
    }
  }
  return result;
}

void read_verlc_note(const ElfFile& file, uint64_t offset, uint32_t size, ElfFacts& facts) {
  constexpr size_t kSize = sizeof(verlc_note) - offsetof(verlc_note, abi_major);
  verlc_note note{};
  if (size < kSize || !file.read(offset, &note.abi_major, kSize)) {
    facts.note_problem = fmt::format("its verlc note has {} bytes, at least {} are needed", size, kSize);
    return;
  }
  facts.note = {.abi_major = note.abi_major,
                .abi_minor = note.abi_minor,
                .min_host_minor = note.min_host_minor,
                .id = fixed_text(note.id, sizeof note.id),
                .version = fixed_text(note.version, sizeof note.version),
                .capabilities = words(fixed_text(note.capabilities, sizeof note.capabilities))};
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  const std::string& id = facts.note->id;
  if (id.empty() || !std::all_of(id.begin(), id.end(), plain))
    facts.note_problem =
        "the id in its verlc note is empty or has characters other than letters, digits, '-', '_', '.'";
}

void read_notes(const ElfFile& file, uint64_t offset, uint64_t size, ElfFacts& facts) {
  constexpr auto align = [](uint64_t bytes) { return (bytes + 3) / 4 * 4; };
  uint64_t done = 0;
  while (size <= kMostNotes && done + sizeof(Elf64_Nhdr) <= size) {
    Elf64_Nhdr header{};
    char name[8] = {};
    if (!file.read(offset + done, &header, sizeof header)) return;
    const uint64_t name_at = done + sizeof header;
    const uint64_t body_at = name_at + align(header.n_namesz);
    if (body_at + header.n_descsz > size) return;
    if (header.n_namesz <= sizeof name && file.read(offset + name_at, name, header.n_namesz)) {
      const std::string_view owner(name, strnlen(name, sizeof name));
      if (owner == "verlc" && header.n_type == VERLC_NOTE_TYPE) {
        if (facts.note) facts.note_problem = "it has more than one verlc note";
        read_verlc_note(file, offset + body_at, header.n_descsz, facts);
      }
      if (owner == "GNU" && header.n_type == NT_GNU_BUILD_ID && header.n_descsz <= 64) {
        unsigned char id[64];
        facts.build_id.clear();
        if (file.read(offset + body_at, id, header.n_descsz))
          for (uint32_t i = 0; i < header.n_descsz; ++i) facts.build_id += fmt::format("{:02x}", id[i]);
      }
    }
    done = body_at + align(header.n_descsz);
  }
}

// Virtual address to file offset, by the loaded segments.
uint64_t file_offset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return UINT64_MAX;
}

void read_dynamic(const ElfFile& file, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& dynamic,
                  ElfFacts& facts) {
  std::vector<Elf64_Dyn> entries;
  if (!file.read_array(dynamic.p_offset, dynamic.p_filesz / sizeof(Elf64_Dyn), entries)) {
    facts.problem = "its dynamic section lies outside the file";
    return;
  }
  const auto last =
      std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& e) { return e.d_tag == DT_NULL; });
  entries.erase(last, entries.end());
  uint64_t strings_at = UINT64_MAX;
  uint64_t strings_size = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings_at = file_offset(segments, entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
  }
  Strings strings;
  if (!strings.load(file, strings_at, strings_size)) {
    facts.problem = "its dynamic strings lie outside the file";
    return;
  }
  for (const Elf64_Dyn& entry : entries) {
    const uint64_t value = entry.d_un.d_val;
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(strings.at(value));
    if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) facts.runpath = strings.at(value);
    if (entry.d_tag == DT_TEXTREL) facts.text_relocations = true;
    if (entry.d_tag == DT_FLAGS) {
      facts.static_tls = facts.static_tls || (value & DF_STATIC_TLS) != 0;
      facts.text_relocations = facts.text_relocations || (value & DF_TEXTREL) != 0;
      facts.bind_now = facts.bind_now || (value & DF_BIND_NOW) != 0;
    }
    if (entry.d_tag == DT_BIND_NOW) facts.bind_now = true;
    if (entry.d_tag == DT_FLAGS_1) {
      facts.bind_now = facts.bind_now || (value & DF_1_NOW) != 0;
      facts.no_delete = facts.no_delete || (value & DF_1_NODELETE) != 0;
    }
  }
}

void read_symbols(const ElfFile& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                  ElfFacts& facts) {
  std::vector<Elf64_Sym> symbols;
  Strings names;
  const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  if (count > kMostSymbols || table.sh_link >= sections.size()) return;
  const Elf64_Shdr& strings = sections[table.sh_link];
  if (!file.read_array(table.sh_offset, count, symbols) ||
      !names.load(file, strings.sh_offset, strings.sh_size))
    return;
  for (const Elf64_Sym& symbol : symbols) {
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || binding == STB_LOCAL || !visible)
      continue;
    facts.exported.push_back(names.at(symbol.st_name));
    if (binding != STB_GLOBAL) facts.weak_or_unique.push_back(facts.exported.back());
  }
}

void read_versions(const ElfFile& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                   ElfFacts& facts) {
  Strings names;
  if (table.sh_link >= sections.size()) return;
  const Elf64_Shdr& strings = sections[table.sh_link];
  if (!names.load(file, strings.sh_offset, strings.sh_size)) return;
  std::set<std::string> found;
  uint64_t at = table.sh_offset;
  for (uint64_t i = 0; i < std::min<uint64_t>(table.sh_info, kMostSections); ++i) {
    Elf64_Verneed need{};
    if (!file.read(at, &need, sizeof need)) break;
    uint64_t aux_at = at + need.vn_aux;
    for (int j = 0; j < need.vn_cnt; ++j) {
      Elf64_Vernaux aux{};
      if (!file.read(aux_at, &aux, sizeof aux)) break;
      found.insert(names.at(aux.vna_name));
      if (aux.vna_next == 0) break;
      aux_at += aux.vna_next;
    }
    if (need.vn_next == 0) break;
    at += need.vn_next;
  }
  facts.versions_needed.assign(found.begin(), found.end());
}

void read_sections(const ElfFile& file, const Elf64_Ehdr& header, ElfFacts& facts) {
  std::vector<Elf64_Shdr> sections;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMostSections ||
      !file.read_array(header.e_shoff, header.e_shnum, sections))
    return;  // stripped of sections: the loader doesn't need them
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_DYNSYM) read_symbols(file, sections, section, facts);
    if (section.sh_type == SHT_GNU_verneed) read_versions(file, sections, section, facts);
  }
}

std::string header_problem(const ElfFile& file, Elf64_Ehdr& header) {
  if (!file.read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "it is not an ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "it is not a 64-bit little-endian ELF file";
#if defined(__x86_64__)
  constexpr unsigned kMachine = EM_X86_64;
#else
  constexpr unsigned kMachine = EM_AARCH64;
#endif
  if (header.e_machine != kMachine)
    return fmt::format("it is built for machine type {}, this program for {}", header.e_machine, kMachine);
  if (header.e_type != ET_DYN)
    return fmt::format("it is no shared object (ELF type {}, needed 3)", header.e_type);
  return {};
}

}  // namespace

ElfFacts read_elf_facts(int fd) {
  ElfFacts facts;
  const ElfFile file(fd);
  Elf64_Ehdr header{};
  facts.problem = header_problem(file, header);
  if (!facts.problem.empty()) return facts;
  std::vector<Elf64_Phdr> segments;
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !file.read_array(header.e_phoff, header.e_phnum, segments)) {
    facts.problem = "its program headers lie outside the file";
    return facts;
  }
  bool has_dynamic = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && !file.inside(segment.p_offset, segment.p_filesz)) {
      facts.problem = "it is cut short: a segment reaches beyond the end of the file";
      return facts;
    }
    if (segment.p_type == PT_GNU_STACK) facts.executable_stack = (segment.p_flags & PF_X) != 0;
    if (segment.p_type == PT_NOTE) read_notes(file, segment.p_offset, segment.p_filesz, facts);
    if (segment.p_type == PT_DYNAMIC && !has_dynamic) {
      has_dynamic = true;
      read_dynamic(file, segments, segment, facts);
    }
  }
  if (!has_dynamic && facts.problem.empty()) facts.problem = "it has no dynamic section";
  read_sections(file, header, facts);
  return facts;
}

}  // namespace verlc
