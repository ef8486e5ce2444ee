// The seam between process groups and what moves the bytes: messages between ranks, matched by (sender, tag)
// in order. Algorithms, sums, checks and time limits live above it in ProcessGroup, so every back end gives
// equal bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace verlc {

/// One rank's end of one group. One call at a time. Nothing throws: failure() tells what went wrong.
class Transport {
 public:
  /// Names a message under way.
  using Token = uint64_t;

  virtual ~Transport() = default;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Starts a message; the bytes stay untouched until test() says that it is over. Any size, also above 2
  /// GiB.
  virtual Token post_send(int peer, uint32_t tag, const void* data, size_t bytes) noexcept = 0;
  /// Starts a receive of at most `capacity` bytes. Above 1 GiB the message must have exactly `capacity`
  /// bytes.
  virtual Token post_receive(int peer, uint32_t tag, void* data, size_t capacity) noexcept = 0;
  /// Makes progress; true once when the message is over, and then the token is gone. `*bytes` (may be null)
  /// gets the number received.
  virtual bool test(Token token, size_t* bytes) noexcept = 0;
  /// Ranks with equal color, ordered by (key, rank). Collective. Null with failure() set when it fails.
  virtual std::unique_ptr<Transport> split(int color, int key) noexcept = 0;
  /// What broke this transport, or empty. Once set, it stays.
  [[nodiscard]] virtual std::string failure() const = 0;
  /// Ends the whole job: every other rank stops soon. `reason` is for ranks of the same process.
  virtual void abort(int exit_code, const std::string& reason) noexcept = 0;
};

}  // namespace verlc
