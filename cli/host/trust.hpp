// Whether a file may be loaded as code: who owns it and its folders, and who else can write there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace verlc {

/// Which file was checked, so that the loaded one can be compared.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct TrustVerdict {
  std::string reason;  ///< empty = trusted; otherwise the rule, the path it fails at and the values found
  std::filesystem::path path;  ///< symlinks resolved
  FileIdentity identity;
  [[nodiscard]] bool trusted() const { return reason.empty(); }
};

/// Rules: the path is absolute; each folder up to "/" and the file are owned by root or by this user and not
/// writable by group or others (a sticky world-writable folder is accepted only above a folder of this user
/// with mode 0700); the file is regular, without setuid and setgid. For uid 0 every owner must be root.
TrustVerdict check_trust(const std::filesystem::path& file);

/// For an engine that came with the program: whoever can write where the program itself lies could change the
/// program, so folders from the installation's root upwards say nothing about the engine. Below it the rules
/// hold, but for group write access that the program's own file has as well (a checkout made under umask
/// 002). `root`: the folder that holds bin/<program> and lib/.
TrustVerdict check_builtin_trust(const std::filesystem::path& file, const std::filesystem::path& root,
                                 const std::filesystem::path& program);

}  // namespace verlc
