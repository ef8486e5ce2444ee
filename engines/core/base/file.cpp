#include "core/base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.hpp"

namespace verlc {
namespace {

[[noreturn]] void fail_system(ErrorKind kind, const std::filesystem::path& path, const char* action) {
  const int code = errno;
  throw Error(kind, {.what = std::string("cannot ") + action + ": " + std::strerror(code),
                     .where = path.string(),
                     .value = {},
                     .fix = code == ENOSPC || code == EDQUOT ? "free some space and run again" : ""});
}

int open_to_read(const std::filesystem::path& path, size_t* size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_system(ErrorKind::input, path, "open");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    fail_input({.what = "is not a regular file", .where = path.string(), .value = {}, .fix = {}});
  }
  *size = static_cast<size_t>(info.st_size);
  return fd;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  size_t size = 0;
  const int fd = open_to_read(path, &size);
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  ::close(fd);
  if (done != size) fail_system(ErrorKind::run, path, "read");
  return bytes;
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int fd = open_to_read(path, &size_);
  if (size_ > 0) {
    void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
      ::close(fd);
      fail_system(ErrorKind::run, path, "map");
    }
    data_ = static_cast<const std::byte*>(map);
  }
  ::close(fd);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp." + std::to_string(::getpid())) {
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_system(ErrorKind::run, path_, "create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  synced_ = false;
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system(ErrorKind::run, path_, "write");
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

void AtomicFile::reserve(uint64_t size) {
  synced_ = false;
  if (size > 0 && ::fallocate(fd_, 0, 0, static_cast<off_t>(size)) != 0) {
    // Not every file system can claim blocks ahead; the writes will then tell.
    if (errno != EOPNOTSUPP && errno != ENOSYS) fail_system(ErrorKind::run, path_, "reserve space");
  }
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail_system(ErrorKind::run, path_, "set the size");
}

void AtomicFile::write_at(uint64_t offset, const void* data, size_t size) {
  synced_ = false;
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::pwrite(fd_, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system(ErrorKind::run, path_, "write");
    from += done;
    size -= static_cast<size_t>(done);
    offset += static_cast<uint64_t>(done);
  }
}

void AtomicFile::sync() {
  if (synced_) return;
  if (::fsync(fd_) != 0) fail_system(ErrorKind::run, path_, "fsync");
  synced_ = true;
}

void AtomicFile::commit() {
  sync();
  ::close(std::exchange(fd_, -1));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary_.c_str());
    errno = code;
    fail_system(ErrorKind::run, path_, "rename into place");
  }
  sync_folder(path_.has_parent_path() ? path_.parent_path() : ".");
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail_system(ErrorKind::run, folder, "open folder");
  const int status = ::fsync(fd);
  ::close(fd);
  if (status != 0 && errno != EINVAL) fail_system(ErrorKind::run, folder, "fsync folder");
}

}  // namespace verlc
