#include "core/memory/heap_allocator.hpp"

#include <cstdlib>
#include <string>

#include "core/base/error.hpp"

namespace verlc {

void* HeapAllocator::allocate(size_t bytes, Category category) {
  if (bytes == 0) return nullptr;
  const size_t rounded = (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  void* block = std::aligned_alloc(kBlockAlignment, rounded);
  if (block == nullptr)
    throw Error(ErrorKind::fit, {.what = "out of memory",
                                 .where = std::string(category_name(category)),
                                 .value = std::to_string(bytes) + " bytes",
                                 .fix = {}});
  live_[static_cast<size_t>(category)] += static_cast<int64_t>(bytes);
  return block;
}

void HeapAllocator::release(void* block, size_t bytes, Category category) noexcept {
  if (block == nullptr) return;
  std::free(block);
  live_[static_cast<size_t>(category)] -= static_cast<int64_t>(bytes);
}

int64_t HeapAllocator::live() const {
  int64_t sum = 0;
  for (const std::atomic<int64_t>& bytes : live_) sum += bytes.load();
  return sum;
}

}  // namespace verlc
