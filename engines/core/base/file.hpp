// Files: whole reads, memory maps, and writes that are either complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace verlc {

/// The whole file as bytes. Throws Error(input) naming the path when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Read-only map of a whole file; unmapped on destruction. Movable, not copyable.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// A file under construction: written to "<path>.tmp.<pid>", fsynced and renamed by commit(). Destroyed
/// without commit, it leaves nothing. Every failed write (full disk) throws Error(run) naming the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view bytes);
  void write(const void* data, size_t size) { write({static_cast<const char*>(data), size}); }
  /// Sets the size and claims the disk blocks where the file system can, so that a full disk shows at once.
  void reserve(uint64_t size);
  /// Writes at a byte offset; independent of write()'s position.
  void write_at(uint64_t offset, const void* data, size_t size);
  /// fsyncs what was written; commit() then only renames.
  void sync();
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  bool synced_ = false;
};

/// Writes the whole file atomically: temporary name, fsync, rename, fsync of the folder.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// fsyncs a folder, so that a rename inside it survives a crash.
void sync_folder(const std::filesystem::path& folder);

}  // namespace verlc
