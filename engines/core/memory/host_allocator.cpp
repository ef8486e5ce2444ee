#include "core/memory/host_allocator.hpp"

#include <string>

#include "core/base/error.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

verlc_memory_request request_for(size_t bytes, uint32_t category) {
  auto request = plugin::make_struct<verlc_memory_request>();
  request.bytes = bytes;
  request.alignment = kBlockAlignment;
  request.device_type = VERLC_DEVICE_CPU;
  request.category = category;
  return request;
}

}  // namespace

HostAllocator::HostAllocator(const verlc_memory* service) : service_(service) {
  for (size_t i = 0; i < kNumCategories; ++i) {
    const std::string name(category_name(static_cast<Category>(i)));
    categories_[i] = service_->category(service_->self, name.c_str());
  }
}

uint32_t HostAllocator::host_category(Category category) const {
  return categories_[static_cast<size_t>(category)];
}

void* HostAllocator::allocate(size_t bytes, Category category) {
  if (bytes == 0) return nullptr;
  const verlc_memory_request request = request_for(bytes, host_category(category));
  auto error = plugin::make_struct<verlc_error>();
  void* block = nullptr;
  if (service_->allocate(service_->self, &request, &block, &error) < 0)
    throw Error(ErrorKind::fit, {.what = error.message, .where = {}, .value = {}, .fix = {}});
  return block;
}

void HostAllocator::release(void* block, size_t bytes, Category category) noexcept {
  if (block == nullptr) return;
  const verlc_memory_request request = request_for(bytes, host_category(category));
  service_->release(service_->self, block, &request);
}

void HostAllocator::push_scope(std::string_view name) {
  service_->scope_push(service_->self, plugin::to_abi(name));
}
void HostAllocator::pop_scope() noexcept {
  service_->scope_pop(service_->self);
}

}  // namespace verlc
