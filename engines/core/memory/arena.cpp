#include "core/memory/arena.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace verlc {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t wanted_addresses() {
  const auto memory =
      static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t wanted = std::max(memory * 4, size_t{1} << 36);
  rlimit limit{};
  // Under a limit on addresses others need theirs as well.
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    wanted = std::min(wanted, static_cast<size_t>(limit.rlim_cur) / 2);
  return wanted / kHugePage * kHugePage;
}

}  // namespace

Arena::Arena() {
  for (size_t size = wanted_addresses(); size > kHugePage; size = size / 2 / kHugePage * kHugePage) {
    void* map =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) continue;
    ::madvise(map, size, MADV_HUGEPAGE);
    map_ = map;
    map_size_ = size;
    top_ = (reinterpret_cast<uintptr_t>(map) + kHugePage - 1) / kHugePage * kHugePage;
    end_ = reinterpret_cast<uintptr_t>(map) + size;
    return;
  }
}

Arena::~Arena() {
  if (map_ == nullptr) return;
  // The addresses will be others'.
  ASAN_UNPOISON_MEMORY_REGION(map_, top_ - reinterpret_cast<uintptr_t>(map_));
  ::munmap(map_, map_size_);
}

void* Arena::take(size_t size) {
  const std::optional<AddressRange> range = used_before_.take(size);
  return range ? reinterpret_cast<void*>(range->begin) : nullptr;
}

void* Arena::extend(size_t size) {
  const std::optional<AddressRange> last = used_before_.take_ending_at(top_);
  const size_t have = last ? last->size : 0;
  if (have <= size && end_ - top_ >= size - have) {
    const uintptr_t begin = top_ - have;
    top_ += size - have;
    resident_ += size - have;
    return reinterpret_cast<void*>(begin);
  }
  if (last) used_before_.add(*last);
  const std::optional<AddressRange> hole = empty_.take(size);
  if (!hole) return nullptr;
  resident_ += size;
  return reinterpret_cast<void*>(hole->begin);
}

void Arena::give(void* block, size_t size) {
  used_before_.add({reinterpret_cast<uintptr_t>(block), size});
}

std::vector<AddressRange> Arena::evict(size_t bytes, size_t target) {
  std::vector<AddressRange> ranges;
  while (resident_ + bytes > target) {
    const std::optional<AddressRange> largest = used_before_.take_largest();
    if (!largest) break;
    ranges.push_back(*largest);
    resident_ -= largest->size;
  }
  return ranges;
}

void Arena::dropped(const std::vector<AddressRange>& ranges) {
  for (const AddressRange& range : ranges) empty_.add(range);
}

void Arena::drop_pages(const AddressRange& range) {
  ::madvise(reinterpret_cast<void*>(range.begin), range.size, MADV_DONTNEED);
}

}  // namespace verlc
