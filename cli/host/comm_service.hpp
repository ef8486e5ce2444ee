// Host service "verlc.comm/1": process groups behind opaque handles.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "host/comm/process_group.hpp"
#include "verlc/plugin.h"

namespace verlc {

class CommService {
 public:
  CommService();
  CommService(const CommService&) = delete;
  CommService& operator=(const CommService&) = delete;
  ~CommService();

  /// The handle of a group for verlc_topology; one per group, valid while both the group and the service
  /// live.
  verlc_comm* handle(ProcessGroup& group);
  /// Makes progress on what engines have started on the groups with handles and their parts.
  void make_progress() noexcept;
  [[nodiscard]] const verlc_comm_service* table() const { return &table_; }

 private:
  std::mutex mutex_;
  std::function<void()> progress_;
  std::unordered_map<ProcessGroup*, std::unique_ptr<verlc_comm>> handles_;
  verlc_comm_service table_{};
};

}  // namespace verlc
