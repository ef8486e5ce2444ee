// One collective under way: stages of messages to and from peers, each checked against what this rank does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/memory/allocator.hpp"
#include "host/comm/transport.hpp"
#include "verlc/cpp/tensor.hpp"

namespace verlc {

enum class Collective : uint32_t {
  barrier,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  send,  // a send meets a receive: the two compare equal
  receive,
};
const char* collective_name(Collective collective);

/// What all ranks must agree on.
struct OperationKey {
  Collective collective = Collective::barrier;
  uint64_t sequence = 0;  ///< position in the group's order; 0 for send and receive
  plugin::ElementType type;
  int32_t detail = 0;  ///< reduction, root or tag
  uint64_t count = 0;  ///< elements; 0 for all_to_all, where it may differ
};
/// "all_reduce(sum) of 10 f32".
std::string describe_key(const OperationKey& key);

/// Memory of an operation, from the group's allocator or the heap.
class Scratch {
 public:
  Scratch() = default;
  Scratch(Allocator* allocator, size_t bytes);
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  Allocator* allocator_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

class Operation {
 public:
  /// Begins the next stage when one is done; false = there is none.
  using NextStage = std::function<bool(Operation&)>;

  /// Both ends of a message use the same tags: `first_tag`, and `payload_tag` for what doesn't fit beside the
  /// header.
  Operation(Transport& transport, std::string group, OperationKey key, uint32_t first_tag,
            uint32_t payload_tag);

  /// Part of the stage being built. The data stays until the operation is over.
  void send(int peer, const void* data, size_t bytes);
  void receive(int peer, void* data, size_t bytes);
  void set_next(NextStage next) { next_ = std::move(next); }
  /// From here on messages are those of the second exchange: the tags plus 2.
  void use_second_tags() { stage_ = 1; }
  /// Makes progress; true when all is done. Throws Error(run) when ranks differ or the transport is broken.
  bool progress();

  [[nodiscard]] const OperationKey& key() const { return key_; }
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] const Transport* transport() const { return &transport_; }
  /// Ranks that have not sent what this stage needs.
  [[nodiscard]] std::vector<int> missing_ranks() const;
  /// Ranks that have not taken what this stage sends.
  [[nodiscard]] std::vector<int> slow_receivers() const;

  /// Number in the flight recorder, and whether a wait has been told.
  uint64_t record = 0;
  bool finished = false;
  Scratch scratch;

 private:
  struct Outgoing {
    int peer;
    std::vector<std::byte> first;
    std::vector<Transport::Token> tokens;
  };
  struct Incoming {
    int peer;
    std::byte* data;
    size_t bytes;
    std::vector<std::byte> first;
    Transport::Token token;
    bool have_first = false;
    bool done = false;
  };

  void progress_sends();
  void progress_receive(Incoming& message);
  void check_header(const Incoming& message, size_t first_bytes) const;
  [[noreturn]] void fail(const std::string& what) const;

  Transport& transport_;
  std::string group_;
  OperationKey key_;
  uint32_t first_tag_;
  uint32_t payload_tag_;
  uint32_t stage_ = 0;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  NextStage next_;
};

}  // namespace verlc
