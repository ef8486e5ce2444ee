#include "core/memory/block_cache.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <bit>
#include <limits>

#include "core/memory/arena.hpp"

namespace verlc {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSlab = 4 * kLargeBlock;

size_t round_up(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

size_t class_size(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 4) return 0;
  if (bytes >= kLargeBlock) return round_up(bytes, Arena::kGranule);
  const size_t eighth = std::bit_floor(bytes) / 8;
  const size_t least = bytes >= kPage ? kPage : 64;
  const size_t size = round_up(bytes, eighth < least ? least : eighth);
  return size >= kPage ? round_up(size, kPage) : size;
}

BlockCache::~BlockCache() {
  for (void* slab : slabs_) {
    ASAN_UNPOISON_MEMORY_REGION(slab, kSlab);  // the addresses will be others'
    ::munmap(slab, kSlab);
  }
}

void* BlockCache::take(size_t size) {
  const auto list = free_.find(size);
  if (list == free_.end() || list->second.empty()) return carve(size);
  void* block = list->second.back();  // the hottest one
  list->second.pop_back();
  cached_ -= size;
  return block;
}

void BlockCache::give(void* block, size_t size) {
  free_[size].push_back(block);
  cached_ += size;
}

void* BlockCache::carve(size_t size) {
  const size_t alignment = size >= kPage ? kPage : 64;
  auto fits = [&](std::byte* at) {
    return at != nullptr && at <= slab_end_ && size_t(slab_end_ - at) >= size;
  };
  auto* at = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(slab_next_), alignment));
  if (!fits(at)) {
    void* slab =
        ::mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) return nullptr;
    slabs_.push_back(slab);
    at = static_cast<std::byte*>(slab);
    slab_end_ = at + kSlab;
  }
  slab_next_ = at + size;
  return at;
}

}  // namespace verlc
