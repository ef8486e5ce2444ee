#include "host/trust.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace verlc {
namespace {

std::string owner_rule(uid_t user) {
  return user == 0 ? "root" : fmt::format("root or user {}", user);
}

bool owner_trusted(const struct stat& info, uid_t user) {
  return info.st_uid == 0 || info.st_uid == user;
}

// Where the walk up from the file ends, and which write bits of others are refused.
struct TrustScope {
  std::filesystem::path root = "/";
  bool root_included = true;
  mode_t refused = S_IWGRP | S_IWOTH;
};

bool writable_by_others(const struct stat& info, const TrustScope& scope) {
  return (info.st_mode & scope.refused) != 0;
}

// A sticky world-writable folder (/tmp) is safe only when what lies in it below belongs to this user alone.
bool sticky_above_private(const struct stat& info, const struct stat* below, uid_t user) {
  return (info.st_mode & S_ISVTX) != 0 && below != nullptr && S_ISDIR(below->st_mode) &&
         below->st_uid == user && (below->st_mode & 0777) == 0700;
}

std::string folder_problem(const std::filesystem::path& folder, const struct stat& info,
                           const struct stat* below, uid_t user, const TrustScope& scope) {
  if (!owner_trusted(info, user))
    return fmt::format("untrusted folder {}: owned by user {}, must be owned by {}", folder.string(),
                       info.st_uid, owner_rule(user));
  if (writable_by_others(info, scope) && !sticky_above_private(info, below, user))
    return fmt::format(
        "untrusted folder {}: others can write to it (mode {:04o}); remove the group and world write bits",
        folder.string(), info.st_mode & 07777);
  return {};
}

std::string file_problem(const std::filesystem::path& file, const struct stat& info, uid_t user,
                         const TrustScope& scope) {
  if (!S_ISREG(info.st_mode)) return fmt::format("{} is not a regular file", file.string());
  if (!owner_trusted(info, user))
    return fmt::format("untrusted file {}: owned by user {}, must be owned by {}", file.string(), info.st_uid,
                       owner_rule(user));
  if (writable_by_others(info, scope))
    return fmt::format("untrusted file {}: others can write to it (mode {:04o}); run: chmod go-w {}",
                       file.string(), info.st_mode & 07777, file.string());
  if ((info.st_mode & (S_ISUID | S_ISGID)) != 0)
    return fmt::format("untrusted file {}: it has a setuid or setgid bit (mode {:04o})", file.string(),
                       info.st_mode & 07777);
  return {};
}

TrustVerdict check_in_scope(const std::filesystem::path& file, const TrustScope& scope) {
  TrustVerdict verdict;
  if (!file.is_absolute()) {
    verdict.reason = fmt::format("{} is not an absolute path", file.string());
    return verdict;
  }
  std::error_code code;
  verdict.path = std::filesystem::canonical(file, code);
  if (code) {
    verdict.reason = fmt::format("cannot find {}: {}", file.string(), code.message());
    return verdict;
  }
  const uid_t user = ::geteuid();
  struct stat info {};
  if (::lstat(verdict.path.c_str(), &info) != 0) {
    verdict.reason = fmt::format("cannot look at {}: {}", verdict.path.string(), std::strerror(errno));
    return verdict;
  }
  verdict.identity = {info.st_dev, info.st_ino};
  verdict.reason = file_problem(verdict.path, info, user, scope);
  struct stat below {};
  const struct stat* previous = nullptr;  // the folder between this one and the file
  for (std::filesystem::path folder = verdict.path.parent_path(); verdict.trusted();
       folder = folder.parent_path()) {
    if (folder == scope.root && !scope.root_included) break;
    struct stat folder_info {};
    if (::lstat(folder.c_str(), &folder_info) != 0) {
      verdict.reason = fmt::format("cannot look at {}: {}", folder.string(), std::strerror(errno));
      break;
    }
    verdict.reason = folder_problem(folder, folder_info, previous, user, scope);
    if (folder == folder.root_path()) break;
    below = folder_info;
    previous = &below;
  }
  return verdict;
}

}  // namespace

TrustVerdict check_trust(const std::filesystem::path& file) {
  return check_in_scope(file, {});
}

TrustVerdict check_builtin_trust(const std::filesystem::path& file, const std::filesystem::path& root,
                                 const std::filesystem::path& program) {
  TrustScope scope;
  std::error_code fault;
  scope.root = std::filesystem::canonical(root, fault);
  scope.root_included = false;
  struct stat info {};
  if (::stat(program.c_str(), &info) == 0 && (info.st_mode & S_IWGRP) != 0) scope.refused = S_IWOTH;
  return fault ? check_trust(file) : check_in_scope(file, scope);
}

}  // namespace verlc
