// The host's services as the core's own seams: memory and threads for Context. One object per engine.
#pragma once

#include "core/base/executor.hpp"
#include "core/memory/host_allocator.hpp"
#include "core/tensor/context.hpp"
#include "verlc/plugin.hpp"

namespace verlc {

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
  EngineServices(const EngineServices&) = delete;
  EngineServices& operator=(const EngineServices&) = delete;
  [[nodiscard]] const plugin::Host& host() const { return host_; }
  [[nodiscard]] Context context() { return {allocator_, executor_}; }
  [[nodiscard]] Allocator& memory() { return allocator_; }
  [[nodiscard]] Executor& threads() { return executor_; }

 private:
  plugin::Host host_;
  HostAllocator allocator_;
  ServiceExecutor executor_;
};

}  // namespace verlc
