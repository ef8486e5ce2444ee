// Free small blocks by size class, and the pages they come from. Not thread-safe; the allocator holds its
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace verlc {

/// Blocks of at least this size lie in the arena.
inline constexpr size_t kLargeBlock = size_t{2} << 20;

/// Size of the block that serves `bytes` > 0. Below kLargeBlock: steps of an eighth of a power of two,
/// multiples of 64 bytes and of a page from 4 KiB on. From there: multiples of Arena::kGranule. 0 when it
/// would overflow.
size_t class_size(size_t bytes);

/// Small blocks by size class, carved from slabs.
class BlockCache {
 public:
  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();
  /// A free block of this class, or a new one; null means that no slab could be mapped.
  void* take(size_t size);
  void give(void* block, size_t size);

  /// Bytes in free lists.
  [[nodiscard]] size_t cached() const { return cached_; }

 private:
  void* carve(size_t size);

  std::unordered_map<size_t, std::vector<void*>> free_;
  std::vector<void*> slabs_;
  std::byte* slab_next_ = nullptr;
  std::byte* slab_end_ = nullptr;
  size_t cached_ = 0;
};

}  // namespace verlc
