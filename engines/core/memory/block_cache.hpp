// Free blocks by size class, and the pages they come from. Not thread-safe; the allocator holds its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace verlc {

/// Blocks of at least this size are maps of their own, aligned to it and marked for huge pages.
inline constexpr size_t kLargeBlock = size_t{2} << 20;

/// Size of the class that serves `bytes` > 0: steps of an eighth of a power of two, multiples of 64 bytes, of
/// a page from 4 KiB on and of 2 MiB from 2 MiB on. 0 when it would overflow.
size_t class_size(size_t bytes);

/// A map of fresh pages, aligned to 2 MiB when `bytes` is a multiple of it; null when there are none.
/// Thread-safe.
void* map_pages(size_t bytes);
void unmap_pages(void* pages, size_t bytes);

class BlockCache {
 public:
  ~BlockCache();
  /// A cached block of exactly this class, or null. Small classes (below kLargeBlock) are carved from slabs
  /// when the list is empty; null then means that no slab could be mapped.
  void* take(size_t size);
  /// Takes over a large block that map_pages() made.
  void adopt(size_t size) { mapped_ += size; }
  void give(void* block, size_t size);
  /// Takes the oldest cached large blocks out until `mapped() + bytes <= target` or none is left; the caller
  /// unmaps.
  std::vector<std::pair<void*, size_t>> evict(size_t bytes, size_t target);

  /// Bytes mapped in large blocks, and of those the bytes in free lists.
  [[nodiscard]] size_t mapped() const { return mapped_; }
  [[nodiscard]] size_t cached_large() const { return cached_large_; }
  [[nodiscard]] size_t cached_small() const { return cached_small_; }

 private:
  struct Free {
    void* block;
    uint64_t age;  // order of give()
  };
  void* carve(size_t size);

  std::unordered_map<size_t, std::deque<Free>> free_;
  std::vector<void*> slabs_;
  std::byte* slab_next_ = nullptr;
  std::byte* slab_end_ = nullptr;
  uint64_t clock_ = 0;
  size_t mapped_ = 0;
  size_t cached_large_ = 0;
  size_t cached_small_ = 0;
};

}  // namespace verlc
