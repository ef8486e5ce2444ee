#include "host/comm_service.hpp"

#include <string>
#include <utility>

#include "core/base/engine_guard.hpp"

// The opaque handle of the ABI.
struct verlc_comm {
  verlc::ProcessGroup* group = nullptr;
  std::unique_ptr<verlc::ProcessGroup> owned;  // set for groups that came from split()
};

namespace verlc {
namespace {

CommBuffer checked(const verlc_buffer* buffer, const char* name) {
  if (buffer == nullptr)
    throw plugin::Failure(VERLC_E_ARGUMENT, std::string("buffer '") + name + "' is missing");
  if (buffer->device_type != VERLC_DEVICE_CPU)
    throw plugin::Failure(VERLC_E_UNSUPPORTED, std::string("buffer '") + name + "' is not in CPU memory");
  if (buffer->data == nullptr && buffer->count > 0)
    throw plugin::Failure(VERLC_E_ARGUMENT, std::string("buffer '") + name + "' has elements and no data");
  return {buffer->data, buffer->count, {buffer->code, buffer->bits}};
}

// Communication faults keep their own status, so that an engine can tell them from its own.
template <typename Body>
verlc_status comm_guard(verlc_error* error, Body&& body) noexcept {
  return plugin::guard(error, [&] {
    try {
      body();
    } catch (const Error& fault) {
      throw plugin::Failure(VERLC_E_COMM, fault.what());
    }
  });
}

template <typename Start>
verlc_status start(verlc_comm* group, uint64_t* request, verlc_error* error, Start&& body) noexcept {
  return comm_guard(error, [&] {
    if (group == nullptr) throw plugin::Failure(VERLC_E_ARGUMENT, "the process group is missing");
    const Ticket ticket = body(*group->group);
    if (request != nullptr) {
      *request = static_cast<uint64_t>(ticket);
    } else {
      group->group->wait(ticket);
    }
  });
}

int32_t rank(const verlc_comm* group) noexcept {
  return group->group->rank();
}
int32_t size(const verlc_comm* group) noexcept {
  return group->group->size();
}

verlc_status split(verlc_comm* group, int32_t color, int32_t key, verlc_comm** out,
                   verlc_error* error) noexcept {
  return comm_guard(error, [&] {
    auto part = std::make_unique<verlc_comm>();
    part->owned = group->group->split(color, key, group->group->name() + "/" + std::to_string(color));
    part->group = part->owned.get();
    *out = part.release();
  });
}

void drop(verlc_comm* group) noexcept {
  if (group != nullptr && group->owned != nullptr) delete group;
}

verlc_status barrier(verlc_comm* group, verlc_error* error) noexcept {
  return comm_guard(error, [&] { group->group->barrier(); });
}

verlc_status all_reduce(verlc_comm* group, const verlc_buffer* in, verlc_buffer* out, int32_t op,
                        void* /*stream*/, uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error, [&](ProcessGroup& ranks) {
    return ranks.start_all_reduce(checked(in, "in"), checked(out, "out"), static_cast<ReduceOp>(op));
  });
}

verlc_status reduce_scatter(verlc_comm* group, const verlc_buffer* in, verlc_buffer* out, int32_t op,
                            void* /*stream*/, uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error, [&](ProcessGroup& ranks) {
    return ranks.start_reduce_scatter(checked(in, "in"), checked(out, "out"), static_cast<ReduceOp>(op));
  });
}

verlc_status all_gather(verlc_comm* group, const verlc_buffer* in, verlc_buffer* out, void* /*stream*/,
                        uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error, [&](ProcessGroup& ranks) {
    return ranks.start_all_gather(checked(in, "in"), checked(out, "out"));
  });
}

verlc_status all_to_all(verlc_comm* group, const verlc_buffer* in, const int64_t* send_counts,
                        verlc_buffer* out, const int64_t* receive_counts, void* /*stream*/, uint64_t* request,
                        verlc_error* error) noexcept {
  return start(group, request, error, [&](ProcessGroup& ranks) {
    const auto num_ranks = static_cast<size_t>(ranks.size());
    return ranks.start_all_to_all(checked(in, "in"), {send_counts, num_ranks}, checked(out, "out"),
                                  {receive_counts, num_ranks});
  });
}

verlc_status broadcast(verlc_comm* group, verlc_buffer* buffer, int32_t root, void* /*stream*/,
                       uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error,
               [&](ProcessGroup& ranks) { return ranks.start_broadcast(checked(buffer, "buffer"), root); });
}

verlc_status send(verlc_comm* group, const verlc_buffer* buffer, int32_t peer, int32_t tag, void* /*stream*/,
                  uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error,
               [&](ProcessGroup& ranks) { return ranks.start_send(checked(buffer, "buffer"), peer, tag); });
}

verlc_status receive(verlc_comm* group, verlc_buffer* buffer, int32_t peer, int32_t tag, void* /*stream*/,
                     uint64_t* request, verlc_error* error) noexcept {
  return start(group, request, error, [&](ProcessGroup& ranks) {
    return ranks.start_receive(checked(buffer, "buffer"), peer, tag);
  });
}

verlc_status wait(verlc_comm* group, uint64_t request, int64_t timeout_ns, verlc_error* error) noexcept {
  return comm_guard(error, [&] {
    std::optional<std::chrono::nanoseconds> limit;
    if (timeout_ns >= 0) limit = std::chrono::nanoseconds(timeout_ns);
    group->group->wait(static_cast<Ticket>(request), limit);
  });
}

}  // namespace

CommService::CommService()
    : table_{VERLC_HEAD(verlc_comm_service),
             this,
             rank,
             size,
             split,
             drop,
             barrier,
             all_reduce,
             reduce_scatter,
             all_gather,
             all_to_all,
             broadcast,
             send,
             receive,
             wait} {}

CommService::~CommService() = default;

verlc_comm* CommService::handle(ProcessGroup& group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<verlc_comm>& entry = handles_[&group];
  if (entry == nullptr) entry = std::make_unique<verlc_comm>();
  entry->group = &group;
  if (group.size() > 1) progress_ = group.progress_maker();
  return entry.get();
}

void CommService::make_progress() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (progress_) progress_();
}

}  // namespace verlc
