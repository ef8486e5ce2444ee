// What stands behind ProcessGroup: the state of one rank, shared by all its groups, and the state of one
// group.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "host/comm/operation.hpp"
#include "host/comm/process_group.hpp"

namespace verlc {

/// Operations of all groups of one rank: a wait on any group makes progress on all, so that two groups can't
/// block each other. The mutex also makes the transports' calls one at a time.
struct RankState {
  std::mutex mutex;
  FlightRecorder recorder;
  std::chrono::nanoseconds limit{};
  Allocator* allocator = nullptr;
  std::map<uint64_t, std::unique_ptr<Operation>> operations;  // by ticket, in the order of their start
  uint64_t next_ticket = 1;
  std::string broken;  // why no group of this rank can be used any more

  /// With the mutex held: progress on everything. Throws what an operation throws.
  void progress_all();
  /// progress_all(); true when this ticket is over.
  bool progress(uint64_t ticket);
  /// With the mutex held: drops the operations of a transport that goes away. Unfinished ones are never
  /// freed: a message may still be written into them.
  void forget(const Transport* transport);
};

struct ProcessGroup::State {
  // The shared part is destroyed after the transport.
  std::shared_ptr<RankState> shared;
  std::unique_ptr<Transport> transport;
  std::string name;
  uint64_t sequence = 0;
  std::map<std::pair<int, int>, uint32_t> sent;  // messages so far by (peer, tag)
  std::map<std::pair<int, int>, uint32_t> received;

  /// With the mutex held: a new operation in the group's order.
  std::unique_ptr<Operation> make(OperationKey key);
  std::unique_ptr<Operation> make_message(OperationKey key, int peer);
  /// With the mutex held: lets it run.
  Ticket launch(std::unique_ptr<Operation> operation, uint64_t bytes);
};

}  // namespace verlc
