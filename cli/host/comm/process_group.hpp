// A group of ranks and its collectives. The algorithms are written once over Transport; sums are made in rank
// order,
// ((r0 + r1) + r2) + ..., so their bits depend neither on timing nor on the back end nor on how a buffer is
// split.
//
// Contract: every rank of the group starts the same operations in the same order, also with zero elements.
// Each first message carries a header (operation, sequence number, element type, count, root or reduction),
// so ranks that differ get an Error naming the first difference. An operation that isn't done within the time
// limit throws Error(run) naming rank, phase, operation, sequence number and the ranks that have not arrived.
// After an error the group is broken: end the job with abort(). One call at a time per group.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory/allocator.hpp"
#include "host/comm/flight_recorder.hpp"
#include "host/comm/transport.hpp"
#include "verlc/cpp/tensor.hpp"

namespace verlc {

enum class ReduceOp : int32_t { sum = VERLC_REDUCE_SUM, max = VERLC_REDUCE_MAX, min = VERLC_REDUCE_MIN };

/// A dense run of elements in CPU memory. Sums, max and min take f32, f64, i32, i64 and u8; copies take any
/// type.
struct CommBuffer {
  void* data = nullptr;
  uint64_t count = 0;
  plugin::ElementType type;
  [[nodiscard]] uint64_t bytes() const { return count * type.bits / 8; }
};

template <typename T>
CommBuffer comm_buffer(std::span<T> data) {
  return {const_cast<std::remove_const_t<T>*>(data.data()), data.size(),
          plugin::element_of<std::remove_const_t<T>>()};
}

/// A started operation. Its buffers stay untouched (inputs) or unread (outputs) until wait().
enum class Ticket : uint64_t {};

struct GroupOptions {
  std::string name = "world";
  /// Null = a limit of VERLC_COMM_TIMEOUT seconds, or 600 s.
  std::optional<std::chrono::nanoseconds> time_limit;
  /// For what an algorithm needs beside the caller's buffers (category comm); null = the heap.
  Allocator* allocator = nullptr;
};

class ProcessGroup {
 public:
  ProcessGroup(std::unique_ptr<Transport> transport, GroupOptions options = {});
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const std::string& name() const;
  /// Ranks with equal color, ordered by (key, rank). Collective. The part shares phase, recorder and limits.
  std::unique_ptr<ProcessGroup> split(int color, int key, std::string name);

  /// Equal counts; `out` may be `in`.
  Ticket start_all_reduce(const CommBuffer& in, const CommBuffer& out, ReduceOp op);
  /// in: size() * out.count elements; rank r gets the reduced r-th part.
  Ticket start_reduce_scatter(const CommBuffer& in, const CommBuffer& out, ReduceOp op);
  /// out: size() * in.count elements, rank by rank. `in` may be this rank's part of `out`.
  Ticket start_all_gather(const CommBuffer& in, const CommBuffer& out);
  /// Elements per rank to send and to receive; parts are dense and in rank order. May not overlap.
  Ticket start_all_to_all(const CommBuffer& in, std::span<const int64_t> send_counts, const CommBuffer& out,
                          std::span<const int64_t> receive_counts);
  Ticket start_broadcast(const CommBuffer& buffer, int root);
  /// Matched by (peer, tag) in order; 0 <= tag < 65536.
  Ticket start_send(const CommBuffer& buffer, int peer, int tag);
  Ticket start_receive(const CommBuffer& buffer, int peer, int tag);
  Ticket start_barrier();
  /// Ends an operation. No limit given = the group's. A ticket is waited for once. Progress is made only
  /// inside calls of this group, or of a progress_maker().
  void wait(Ticket ticket, std::optional<std::chrono::nanoseconds> limit = {});
  /// Makes progress and says whether wait() would return at once.
  bool done(Ticket ticket);
  /// Makes progress on the operations under way on all groups of this rank, also when this group is gone.
  /// Does not block or throw: a fault shows at the next wait.
  [[nodiscard]] std::function<void()> progress_maker() const;

  void barrier() { wait(start_barrier()); }
  template <typename T>
  void all_reduce(std::span<T> data, ReduceOp op = ReduceOp::sum) {
    const CommBuffer buffer = comm_buffer(data);
    wait(start_all_reduce(buffer, buffer, op));
  }
  /// One number over all ranks: double, float, int32_t, int64_t or uint8_t.
  template <typename T>
  [[nodiscard]] T all_reduce_value(T value, ReduceOp op = ReduceOp::sum) {
    all_reduce(std::span<T>(&value, 1), op);
    return value;
  }
  /// Equal counts on every rank; the result is rank by rank.
  template <typename T>
  [[nodiscard]] std::vector<T> all_gather(std::span<const T> data) {
    std::vector<T> all(data.size() * static_cast<size_t>(size()));
    wait(start_all_gather(comm_buffer(data), comm_buffer(std::span<T>(all))));
    return all;
  }
  template <typename T>
  void broadcast(std::span<T> data, int root) {
    wait(start_broadcast(comm_buffer(data), root));
  }
  /// Texts of any length, one of each rank, in rank order.
  [[nodiscard]] std::vector<std::string> all_gather_text(std::string_view text);
  /// The root's text on every rank.
  [[nodiscard]] std::string broadcast_text(std::string_view text, int root);

  /// Names what this rank is doing, for messages; shared with split-off groups.
  void set_phase(std::string phase);
  /// Calls `watcher` before each phase begins, on the thread that names it; null = nobody.
  void watch_phases(std::function<void(const std::string& phase)> watcher);
  [[nodiscard]] const FlightRecorder& recorder() const;
  void set_time_limit(std::chrono::nanoseconds limit);
  /// Ends the job: prints nothing; other ranks stop with an error that carries `reason` (same process) or are
  /// ended by the launcher. Returns only on back ends inside one process.
  void abort(int exit_code, const std::string& reason);

 private:
  struct State;
  explicit ProcessGroup(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace verlc
