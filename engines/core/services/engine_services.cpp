#include "core/services/engine_services.hpp"

#include <string>

#include "core/base/error.hpp"

namespace verlc {

ServiceAllocator::ServiceAllocator(const plugin::Host& host) : service_(host.memory()) {
  for (size_t i = 0; i < kNumCategories; ++i)
    categories_[i] = host.memory_category(std::string(category_name(static_cast<Category>(i))).c_str());
}

verlc_memory_request ServiceAllocator::request(size_t bytes, Category category) const {
  auto request = plugin::make_struct<verlc_memory_request>();
  request.bytes = bytes;
  request.alignment = kBlockAlignment;
  request.device_type = VERLC_DEVICE_CPU;
  request.category = categories_[static_cast<size_t>(category)];
  return request;
}

void* ServiceAllocator::allocate(size_t bytes, Category category) {
  if (bytes == 0) return nullptr;
  const verlc_memory_request wanted = request(bytes, category);
  auto error = plugin::make_struct<verlc_error>();
  void* block = nullptr;
  if (service_->allocate(service_->self, &wanted, &block, &error) != VERLC_OK)
    throw Error(ErrorKind::fit, {.what = error.message, .where = {}, .value = {}, .fix = {}});
  return block;
}

void ServiceAllocator::release(void* block, size_t bytes, Category category) noexcept {
  if (block == nullptr) return;
  const verlc_memory_request given = request(bytes, category);
  service_->release(service_->self, block, &given);
}

void ServiceAllocator::push_scope(std::string_view name) {
  service_->scope_push(service_->self, plugin::to_abi(name));
}
void ServiceAllocator::pop_scope() noexcept {
  service_->scope_pop(service_->self);
}

void ServiceExecutor::parallel(int n, void (*task)(void* arg, int i), void* arg) {
  host_.parallel(n, [&](int32_t i) noexcept { task(arg, i); });
}

EngineServices::EngineServices(const plugin::Host& host) : host_(host), allocator_(host), executor_(host) {
  host_.require_all();
}

}  // namespace verlc
