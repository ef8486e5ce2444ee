#include "bench/floats.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "core/base/error.hpp"

namespace verlc::bench {
namespace {

size_t mapped_bytes(size_t count) {
  return (std::max<size_t>(count, 1) * sizeof(float) + 4095) / 4096 * 4096;
}

}  // namespace

Floats::Floats(size_t count, bool random) : count_(count) {
  const size_t bytes = mapped_bytes(count);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail_run({.what = "no memory for the operands",
              .where = "bench",
              .value = std::to_string(bytes) + " bytes",
              .fix = "free memory on this host"});
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  data_ = static_cast<float*>(memory);
  uint32_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    data_[i] = random ? static_cast<float>(state >> 8) / 16777216.0F - 0.5F : 0.0F;
  }
}

Floats::Floats(Floats&& other) noexcept : data_(other.data_), count_(other.count_) {
  other.data_ = nullptr;
}

Floats::~Floats() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes(count_));
}

}  // namespace verlc::bench
