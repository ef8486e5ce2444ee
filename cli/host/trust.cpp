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

bool writable_by_others(const struct stat& info) {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// A sticky world-writable folder (/tmp) is safe only when what lies in it below belongs to this user alone.
bool sticky_above_private(const struct stat& info, const struct stat* below, uid_t user) {
  return (info.st_mode & S_ISVTX) != 0 && below != nullptr && S_ISDIR(below->st_mode) &&
         below->st_uid == user && (below->st_mode & 0777) == 0700;
}

std::string folder_problem(const std::filesystem::path& folder, const struct stat& info,
                           const struct stat* below, uid_t user) {
  if (!owner_trusted(info, user))
    return fmt::format("untrusted folder {}: owned by user {}, must be owned by {}", folder.string(),
                       info.st_uid, owner_rule(user));
  if (writable_by_others(info) && !sticky_above_private(info, below, user))
    return fmt::format(
        "untrusted folder {}: others can write to it (mode {:04o}); remove the group and world write bits",
        folder.string(), info.st_mode & 07777);
  return {};
}

std::string file_problem(const std::filesystem::path& file, const struct stat& info, uid_t user) {
  if (!S_ISREG(info.st_mode)) return fmt::format("{} is not a regular file", file.string());
  if (!owner_trusted(info, user))
    return fmt::format("untrusted file {}: owned by user {}, must be owned by {}", file.string(), info.st_uid,
                       owner_rule(user));
  if (writable_by_others(info))
    return fmt::format("untrusted file {}: others can write to it (mode {:04o}); run: chmod go-w {}",
                       file.string(), info.st_mode & 07777, file.string());
  if ((info.st_mode & (S_ISUID | S_ISGID)) != 0)
    return fmt::format("untrusted file {}: it has a setuid or setgid bit (mode {:04o})", file.string(),
                       info.st_mode & 07777);
  return {};
}

}  // namespace

TrustVerdict check_trust(const std::filesystem::path& file) {
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
  verdict.reason = file_problem(verdict.path, info, user);
  struct stat below {};
  const struct stat* previous = nullptr;  // the folder between this one and the file
  for (std::filesystem::path folder = verdict.path.parent_path(); verdict.trusted();
       folder = folder.parent_path()) {
    struct stat folder_info {};
    if (::lstat(folder.c_str(), &folder_info) != 0) {
      verdict.reason = fmt::format("cannot look at {}: {}", folder.string(), std::strerror(errno));
      break;
    }
    verdict.reason = folder_problem(folder, folder_info, previous, user);
    if (folder == folder.root_path()) break;
    below = folder_info;
    previous = &below;
  }
  return verdict;
}

}  // namespace verlc
