#include "core/memory/block_cache.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <bit>
#include <limits>
#include <utility>

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
  const size_t eighth = std::bit_floor(bytes) / 8;
  const size_t least = bytes >= kLargeBlock ? kLargeBlock : bytes >= kPage ? kPage : 64;
  const size_t size = round_up(bytes, eighth < least ? least : eighth);
  return size >= kLargeBlock ? round_up(size, kLargeBlock) : size >= kPage ? round_up(size, kPage) : size;
}

void* map_pages(size_t bytes) {
  const size_t slack = bytes % kLargeBlock == 0 ? kLargeBlock : 0;
  void* raw = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  if (slack == 0) return begin;
  auto* aligned = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(begin), kLargeBlock));
  if (aligned > begin) ::munmap(begin, static_cast<size_t>(aligned - begin));
  const auto tail = static_cast<size_t>(begin + bytes + slack - (aligned + bytes));
  if (tail > 0) ::munmap(aligned + bytes, tail);
  ::madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

void unmap_pages(void* pages, size_t bytes) {
  ::munmap(pages, bytes);
}

BlockCache::~BlockCache() {
  for (void* slab : slabs_) unmap_pages(slab, kSlab);
  for (const auto& [block, size] : evict(0, 0)) unmap_pages(block, size);
}

void* BlockCache::take(size_t size) {
  const auto list = free_.find(size);
  if (list == free_.end() || list->second.empty()) return size < kLargeBlock ? carve(size) : nullptr;
  void* block = list->second.back().block;  // the hottest one
  list->second.pop_back();
  (size >= kLargeBlock ? cached_large_ : cached_small_) -= size;
  return block;
}

void BlockCache::give(void* block, size_t size) {
  free_[size].push_back({block, clock_++});
  (size >= kLargeBlock ? cached_large_ : cached_small_) += size;
}

void* BlockCache::carve(size_t size) {
  const size_t alignment = size >= kPage ? kPage : 64;
  auto fits = [&](std::byte* at) {
    return at != nullptr && at <= slab_end_ && size_t(slab_end_ - at) >= size;
  };
  auto* at = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(slab_next_), alignment));
  if (!fits(at)) {
    void* slab = map_pages(kSlab);
    if (slab == nullptr) return nullptr;
    slabs_.push_back(slab);
    at = static_cast<std::byte*>(slab);
    slab_end_ = at + kSlab;
  }
  slab_next_ = at + size;
  return at;
}

std::vector<std::pair<void*, size_t>> BlockCache::evict(size_t bytes, size_t target) {
  std::vector<std::pair<void*, size_t>> victims;
  while (cached_large_ > 0 && mapped_ + bytes > target) {
    std::deque<Free>* oldest = nullptr;
    size_t size = 0;
    for (auto& [candidate, list] : free_) {
      if (candidate < kLargeBlock || list.empty()) continue;
      if (oldest == nullptr || list.front().age < oldest->front().age) {
        oldest = &list;
        size = candidate;
      }
    }
    victims.emplace_back(oldest->front().block, size);
    oldest->pop_front();
    cached_large_ -= size;
    mapped_ -= size;
  }
  return victims;
}

}  // namespace verlc
