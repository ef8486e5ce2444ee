// One long stretch of addresses for all large blocks. Freed neighbours join and serve requests of any size,
// so pages that the system gave once are used again: touching new ones costs far more than any search
// (measured: more than half of a first training step was spent clearing pages). Not thread-safe; the
// allocator holds its lock.
#pragma once

#include <vector>

#include "core/memory/free_ranges.hpp"

namespace verlc {

class Arena {
 public:
  /// Block sizes are multiples of this.
  static constexpr size_t kGranule = size_t{64} << 10;

  /// Reserves addresses only, several times the machine's memory where the process's limits allow it.
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Pages used before, or null.
  void* take(size_t size);
  /// New pages as far as need be; null when the addresses are used up.
  void* extend(size_t size);
  void give(void* block, size_t size);
  /// Takes free pages out, largest ranges first, until resident() + bytes <= target or none is left. The
  /// caller gives them back to the system with drop_pages(), then calls dropped().
  std::vector<AddressRange> evict(size_t bytes, size_t target);
  void dropped(const std::vector<AddressRange>& ranges);
  /// Thread-safe.
  static void drop_pages(const AddressRange& range);

  /// Bytes of blocks and of free pages; the latter alone.
  [[nodiscard]] size_t resident() const { return resident_; }
  [[nodiscard]] size_t cached() const { return used_before_.bytes(); }

 private:
  void* map_ = nullptr;
  size_t map_size_ = 0;
  uintptr_t top_ = 0;  // below it everything was handed out once
  uintptr_t end_ = 0;
  size_t resident_ = 0;
  FreeRanges used_before_;  // free, with pages
  FreeRanges empty_;        // free, without
};

}  // namespace verlc
