// The host's services as the core's own seams: memory and threads for Context. One object per engine.
#pragma once

#include <array>

#include "core/base/executor.hpp"
#include "core/memory/allocator.hpp"
#include "core/tensor/context.hpp"
#include "verlc/plugin.hpp"

namespace verlc {

/// Allocator over "verlc.memory/1".
class ServiceAllocator final : public Allocator {
 public:
  explicit ServiceAllocator(const plugin::Host& host);
  void* allocate(size_t bytes, Category category) override;
  void release(void* block, size_t bytes, Category category) noexcept override;
  void push_scope(std::string_view name) override;
  void pop_scope() noexcept override;

 private:
  [[nodiscard]] verlc_memory_request request(size_t bytes, Category category) const;

  const verlc_memory* service_;
  std::array<uint32_t, kNumCategories> categories_{};
};

/// Executor over "verlc.threads/1".
class ServiceExecutor final : public Executor {
 public:
  explicit ServiceExecutor(const plugin::Host& host) : host_(host) {}
  [[nodiscard]] int threads() const override { return host_.num_threads(); }
  void parallel(int n, void (*task)(void* arg, int i), void* arg) override;

 private:
  plugin::Host host_;
};

/// What an engine computes with. Throws plugin::Failure when the host lacks a service.
class EngineServices {
 public:
  explicit EngineServices(const plugin::Host& host);
  [[nodiscard]] const plugin::Host& host() const { return host_; }
  [[nodiscard]] Context context() { return {allocator_, executor_}; }
  [[nodiscard]] Allocator& memory() { return allocator_; }
  [[nodiscard]] Executor& threads() { return executor_; }

 private:
  plugin::Host host_;
  ServiceAllocator allocator_;
  ServiceExecutor executor_;
};

}  // namespace verlc
