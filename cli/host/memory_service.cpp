#include "host/memory_service.hpp"

#include <bit>
#include <string>

#include "core/base/engine_guard.hpp"

namespace verlc {
namespace {

constexpr uint64_t kMaxAlignment = 4096;

CachingAllocator& allocator_of(void* self) {
  return *static_cast<CachingAllocator*>(self);
}

uint32_t category(void* self, const char* name) noexcept {
  return allocator_of(self).intern_category(name == nullptr ? "work" : name);
}

verlc_status allocate(void* self, const verlc_memory_request* request, void** out,
                      verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    if (request == nullptr || out == nullptr || !VERLC_HAS(request, verlc_memory_request, stream))
      throw plugin::Failure(VERLC_E_ARGUMENT, "memory request or result is missing");
    *out = nullptr;
    if (request->device_type != VERLC_DEVICE_CPU)
      throw plugin::Failure(VERLC_E_UNSUPPORTED,
                            "this host has memory of device type 1 (CPU) only, asked for type " +
                                std::to_string(request->device_type));
    const uint64_t alignment = request->alignment == 0 ? kBlockAlignment : request->alignment;
    if (!std::has_single_bit(alignment) || alignment > kMaxAlignment)
      throw plugin::Failure(VERLC_E_ARGUMENT, "alignment " + std::to_string(alignment) +
                                                  " is not a power of two of at most 4096");
    *out = allocator_of(self).allocate_tagged(request->bytes, request->category, alignment);
  });
}

void release(void* self, void* pointer, const verlc_memory_request* request) noexcept {
  allocator_of(self).release_tagged(pointer, request->bytes, request->category);
}

void account(void* self, uint32_t category, int32_t /*device_type*/, int32_t /*device_id*/,
             int64_t delta_bytes) noexcept {
  allocator_of(self).account(category, delta_bytes);
}

void budget(void* self, int32_t /*device_type*/, int32_t /*device_id*/, uint64_t* limit,
            uint64_t* used) noexcept {
  if (limit != nullptr) *limit = allocator_of(self).limit();
  if (used != nullptr) *used = allocator_of(self).used();
}

void scope_push(void* self, verlc_string name) noexcept {
  allocator_of(self).push_scope(plugin::to_view(name));
}
void scope_pop(void* self) noexcept {
  allocator_of(self).pop_scope();
}

}  // namespace

MemoryService::MemoryService(CachingAllocator& allocator)
    : table_{VERLC_HEAD(verlc_memory),
             &allocator,
             category,
             allocate,
             release,
             account,
             budget,
             scope_push,
             scope_pop} {}

}  // namespace verlc
