// A host for an engine under test: heap memory with counters, a thread team, a switch for cancellation.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/thread_pool.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout::test {

class FakeHost {
 public:
  explicit FakeHost(int threads) : pool_(threads) {
    log_ = plugin::make_struct<verlc_log>();
    log_.enabled = [](void*, int32_t) noexcept { return int32_t{0}; };
    log_.write = [](void*, int32_t, verlc_string, verlc_string) noexcept {};
    memory_ = plugin::make_struct<verlc_memory>();
    memory_.self = this;
    memory_.category = [](void*, const char* name) noexcept { return static_cast<uint32_t>(name[0]); };
    memory_.allocate = allocate;
    memory_.release = release;
    memory_.account = [](void*, uint32_t, int32_t, int32_t, int64_t) noexcept {};
    memory_.budget = [](void* self, int32_t, int32_t, uint64_t* limit, uint64_t* used) noexcept {
      *limit = static_cast<FakeHost*>(self)->limit;
      *used = static_cast<uint64_t>(static_cast<FakeHost*>(self)->live.load());
    };
    memory_.scope_push = [](void*, verlc_string) noexcept {};
    memory_.scope_pop = [](void*) noexcept {};
    comm_ = plugin::make_struct<verlc_comm_service>();
    metrics_ = plugin::make_struct<verlc_metrics>();
    cancel_ = plugin::make_struct<verlc_cancel>();
    cancel_.self = this;
    cancel_.requested = [](void* self, uint64_t scope) noexcept {
      return static_cast<int32_t>(scope != 0 && static_cast<FakeHost*>(self)->cancelled_scope == scope);
    };
    threads_ = plugin::make_struct<verlc_threads>();
    threads_.self = this;
    threads_.count = [](void* self) noexcept { return static_cast<FakeHost*>(self)->pool_.threads(); };
    threads_.run = [](void* self, int32_t n, void (*task)(void*, int32_t) noexcept, void* argument) noexcept {
      static_cast<FakeHost*>(self)->pool_.parallel(n, task, argument);
    };
    host_ = plugin::make_struct<verlc_host>();
    host_.abi_major = VERLC_ABI_MAJOR;
    host_.self = this;
    host_.service = service;
  }

  [[nodiscard]] const verlc_host* table() const { return &host_; }

  std::atomic<int64_t> live{0};
  std::atomic<int64_t> live_kv{0};  ///< category "kv_cache"
  uint64_t limit = UINT64_MAX;
  uint64_t cancelled_scope = 0;         ///< 0 = none
  std::atomic<int64_t> fail_after{-1};  ///< allocations until one fails; < 0 = never

 private:
  static verlc_status allocate(void* self, const verlc_memory_request* request, void** out,
                               verlc_error* error) noexcept {
    auto& host = *static_cast<FakeHost*>(self);
    if (host.fail_after >= 0 && host.fail_after-- == 0)
      return verlc_fail(error, VERLC_E_MEMORY_HOST, "the test's memory is used up");
    *out = std::aligned_alloc(64, (request->bytes + 63) / 64 * 64);
    // Fresh memory is poison: nothing may be read before it is written.
    std::memset(*out, 0xFF, request->bytes);
    host.live += static_cast<int64_t>(request->bytes);
    if (request->category == 'k') host.live_kv += static_cast<int64_t>(request->bytes);
    return VERLC_OK;
  }
  static void release(void* self, void* block, const verlc_memory_request* request) noexcept {
    auto& host = *static_cast<FakeHost*>(self);
    host.live -= static_cast<int64_t>(request->bytes);
    if (request->category == 'k') host.live_kv -= static_cast<int64_t>(request->bytes);
    std::free(block);
  }
  static const void* service(void* self, const char* id) noexcept {
    auto& host = *static_cast<FakeHost*>(self);
    const std::string_view name(id);
    if (name == VERLC_SERVICE_LOG) return &host.log_;
    if (name == VERLC_SERVICE_MEMORY) return &host.memory_;
    if (name == VERLC_SERVICE_COMM) return &host.comm_;
    if (name == VERLC_SERVICE_METRICS) return &host.metrics_;
    if (name == VERLC_SERVICE_CANCEL) return &host.cancel_;
    if (name == VERLC_SERVICE_THREADS) return &host.threads_;
    return nullptr;
  }

  ThreadPool pool_;
  verlc_log log_{};
  verlc_memory memory_{};
  verlc_comm_service comm_{};
  verlc_metrics metrics_{};
  verlc_cancel cancel_{};
  verlc_threads threads_{};
  verlc_host host_{};
};

}  // namespace verlc::rollout::test
