// Counter-based random streams: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A stream is named by (seed, purpose, a, b); equal names give equal numbers on every rank, thread
// and resume, and there is no process-global state.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace verlc {

/// What a stream is used for; part of its name, so that two uses never share numbers. Values are stored in
/// checkpoints' meaning: append only.
enum class Purpose : uint32_t {
  init = 1,       ///< random weights
  shuffle = 2,    ///< order of an epoch
  sample = 3,     ///< tokens of one response
  minibatch = 4,  ///< order inside an update
  loss = 5,       ///< tokens that a loss draws
  test = 100,
};

class RandomStream {
 public:
  /// `a` and `b` tell streams of one purpose apart, for instance (step, sample).
  RandomStream(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0);

  uint32_t next_u32();
  uint64_t next_u64() { return (uint64_t{next_u32()} << 32) | next_u32(); }
  /// Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }
  /// Uniform integer in [0, n) without modulo bias; n > 0.
  uint64_t below(uint64_t n);
  /// Standard normal (Box-Muller, one value per call).
  double normal();
  /// Jumps to the i-th block of four u32: position by index instead of by history.
  void seek(uint64_t block);

 private:
  void refill();

  std::array<uint32_t, 2> key_{};
  std::array<uint32_t, 4> counter_{};
  std::array<uint32_t, 4> block_{};
  unsigned used_ = 4;
};

/// Fisher-Yates shuffle drawn from `stream`.
void shuffle(std::span<uint32_t> items, RandomStream& stream);

/// A 64-bit mix of two values (splitmix64 finaliser), for deriving seeds from seeds.
uint64_t mix_seed(uint64_t a, uint64_t b);

}  // namespace verlc
