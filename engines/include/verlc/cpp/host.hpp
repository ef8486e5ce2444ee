// The host's services in one object. Part of verlc/plugin.hpp.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "verlc/cpp/group.hpp"
#include "verlc/cpp/memory.hpp"

namespace verlc::plugin {
/// The host's services. Cheap to copy; valid between open and shutdown. [any] where the service is.
class Host {
 public:
  Host() = default;
  /// Asks for every service of ABI 1.0; an absent one is NULL here.
  explicit Host(const verlc_host* host)
      : log_(find<verlc_log>(host, VERLC_SERVICE_LOG)),
        memory_(find<verlc_memory>(host, VERLC_SERVICE_MEMORY)),
        comm_(find<verlc_comm_service>(host, VERLC_SERVICE_COMM)),
        metrics_(find<verlc_metrics>(host, VERLC_SERVICE_METRICS)),
        cancel_(find<verlc_cancel>(host, VERLC_SERVICE_CANCEL)),
        threads_(find<verlc_threads>(host, VERLC_SERVICE_THREADS)) {}

  /// Throws Failure(VERLC_E_UNSUPPORTED) naming the first absent service: call it where an engine is created.
  void require_all() const {
    require(log_, VERLC_SERVICE_LOG);
    require(memory_, VERLC_SERVICE_MEMORY);
    require(comm_, VERLC_SERVICE_COMM);
    require(metrics_, VERLC_SERVICE_METRICS);
    require(cancel_, VERLC_SERVICE_CANCEL);
    require(threads_, VERLC_SERVICE_THREADS);
  }

  [[nodiscard]] const verlc_memory* memory() const { return memory_; }
  [[nodiscard]] const verlc_comm_service* comm() const { return comm_; }
  [[nodiscard]] const verlc_threads* threads() const { return threads_; }
  [[nodiscard]] const verlc_metrics* metrics() const { return metrics_; }
  [[nodiscard]] const verlc_log* log_table() const { return log_; }

  [[nodiscard]] bool log_enabled(int32_t level) const {
    return log_ != nullptr && log_->enabled(log_->self, level) != 0;
  }
  /// Levels of verlc_log: 0 debug, 1 info, 2 warning, 3 error.
  void log(int32_t level, std::string_view component, std::string_view message) const {
    if (log_enabled(level)) log_->write(log_->self, level, to_abi(component), to_abi(message));
  }

  [[nodiscard]] uint32_t memory_category(const char* name) const {
    return memory_ == nullptr ? 0 : memory_->category(memory_->self, name);
  }
  [[nodiscard]] MemoryBlock allocate(uint32_t category, uint64_t bytes, uint64_t alignment = 64) const {
    require(memory_, VERLC_SERVICE_MEMORY);
    return {memory_, category, bytes, alignment};
  }
  [[nodiscard]] MemoryScope scope(std::string_view name) const { return {memory_, name}; }

  [[nodiscard]] Group group(verlc_comm* comm) const { return {comm_, comm}; }

  [[nodiscard]] uint32_t metric(std::string_view name, int32_t reduction) const {
    return metrics_ == nullptr ? 0 : metrics_->intern(metrics_->self, to_abi(name), reduction);
  }
  void put(uint32_t metric_id, double value) const {
    if (metrics_ != nullptr) metrics_->put(metrics_->self, metric_id, value);
  }

  [[nodiscard]] bool cancelled(uint64_t scope) const {
    return cancel_ != nullptr && cancel_->requested(cancel_->self, scope) != 0;
  }
  /// Throws Failure(VERLC_E_CANCELLED).
  void stop_if_cancelled(uint64_t scope) const {
    if (cancelled(scope)) throw Failure(VERLC_E_CANCELLED, "cancelled");
  }

  [[nodiscard]] int32_t num_threads() const {
    return threads_ == nullptr ? 1 : threads_->count(threads_->self);
  }
  /// body(i) for each i in [0, n) on the host's team; body must not throw and must not call parallel().
  template <typename Body>
  void parallel(int32_t n, Body&& body) const {
    using Plain = std::remove_reference_t<Body>;
    if (threads_ == nullptr) {
      for (int32_t i = 0; i < n; ++i) body(i);
      return;
    }
    void* argument = const_cast<void*>(static_cast<const void*>(&body));
    threads_->run(
        threads_->self, n, [](void* context, int32_t i) noexcept { (*static_cast<Plain*>(context))(i); },
        argument);
  }

 private:
  template <typename Table>
  static const Table* find(const verlc_host* host, const char* id) {
    return static_cast<const Table*>(host->service(host->self, id));
  }
  static void require(const void* table, const char* id) {
    if (table == nullptr) throw Failure(VERLC_E_UNSUPPORTED, std::string("the host lacks the service ") + id);
  }

  const verlc_log* log_ = nullptr;
  const verlc_memory* memory_ = nullptr;
  const verlc_comm_service* comm_ = nullptr;
  const verlc_metrics* metrics_ = nullptr;
  const verlc_cancel* cancel_ = nullptr;
  const verlc_threads* threads_ = nullptr;
};

}  // namespace verlc::plugin
