// The host's team of threads as an Executor.
#pragma once

#include "core/base/executor.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout {

class HostExecutor final : public Executor {
 public:
  /// `service` must outlive this object.
  explicit HostExecutor(const verlc_threads* service) : service_(service) {}

  [[nodiscard]] int threads() const override { return service_->count(service_->self); }
  void parallel(int n, void (*task)(void* arg, int i), void* arg) override {
    Call call{task, arg};
    service_->run(
        service_->self, n,
        [](void* context, int32_t i) noexcept {
          const Call& each = *static_cast<const Call*>(context);
          each.task(each.arg, i);
        },
        &call);
  }

 private:
  struct Call {
    void (*task)(void* arg, int i);
    void* arg;
  };
  const verlc_threads* service_;
};

}  // namespace verlc::rollout
