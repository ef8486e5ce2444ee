// Blocks and scopes of the memory service. Part of verlc/plugin.hpp.
#pragma once

#include <string_view>
#include <utility>

#include "verlc/cpp/guard.hpp"

namespace verlc::plugin {

/// One block from the host's memory service; given back by destruction.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  /// Throws Failure(VERLC_E_MEMORY_HOST) with the host's account of who holds the memory.
  MemoryBlock(const verlc_memory* service, uint32_t category, uint64_t bytes, uint64_t alignment = 64)
      : service_(service), request_(make_struct<verlc_memory_request>()) {
    request_.bytes = bytes;
    request_.alignment = alignment;
    request_.device_type = VERLC_DEVICE_CPU;
    request_.category = category;
    auto error = make_struct<verlc_error>();
    throw_if_failed(service_->allocate(service_->self, &request_, &data_, &error), error);
  }
  MemoryBlock(MemoryBlock&& other) noexcept { swap(other); }
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MemoryBlock() {
    if (data_ != nullptr) service_->release(service_->self, data_, &request_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] uint64_t size() const { return request_.bytes; }

 private:
  void swap(MemoryBlock& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(request_, other.request_);
    std::swap(data_, other.data_);
  }
  const verlc_memory* service_ = nullptr;
  verlc_memory_request request_{};
  void* data_ = nullptr;
};

/// Names what this thread is doing while it lives, for memory reports.
class MemoryScope {
 public:
  MemoryScope(const verlc_memory* service, std::string_view name) : service_(service) {
    if (service_ != nullptr) service_->scope_push(service_->self, to_abi(name));
  }
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  ~MemoryScope() {
    if (service_ != nullptr) service_->scope_pop(service_->self);
  }

 private:
  const verlc_memory* service_;
};

}  // namespace verlc::plugin
