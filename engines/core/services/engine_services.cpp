#include "core/services/engine_services.hpp"

namespace verlc {

namespace {

const plugin::Host& complete(const plugin::Host& host) {
  host.require_all();
  return host;
}

}  // namespace

void ServiceExecutor::parallel(int n, void (*task)(void* arg, int i), void* arg) {
  host_.parallel(n, [&](int32_t i) noexcept { task(arg, i); });
}

EngineServices::EngineServices(const plugin::Host& host)
    : host_(complete(host)), allocator_(host_.memory()), executor_(host_) {}

}  // namespace verlc
