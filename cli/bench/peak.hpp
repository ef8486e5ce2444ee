// The limits of this machine at this moment, which every rate is set against: multiply-adds in registers and
// bytes read from memory.
#pragma once

#include <cstdint>

#include "bench/floats.hpp"
#include "core/base/executor.hpp"

namespace verlc::bench {

/// What a body multiplies: float32, or pairs of bfloat16 into float32 (vdpbf16ps).
enum class Arithmetic { f32, bf16 };

/// True when the CPU target in use multiplies pairs of bfloat16.
bool has_bf16_dot();

/// Multiplications and additions that peak_loop(threads, arithmetic, steps) does on all threads together.
double peak_flops(Executor& threads, Arithmetic arithmetic, int64_t steps);
/// `steps` rounds of independent multiply-adds in registers on every thread, on the CPU target in use. bf16
/// needs has_bf16_dot().
void peak_loop(Executor& threads, Arithmetic arithmetic, int64_t steps);

/// Memory that is much larger than any cache, for reading.
class ReadBuffer {
 public:
  explicit ReadBuffer(size_t bytes);

  /// Reads the next `bytes` (at most the size) on all threads, going round, so that nothing read is still in
  /// a cache. Returns their sum, which the compiler can't leave out.
  float read(Executor& threads, size_t bytes);
  [[nodiscard]] size_t size() const { return data_.size() * sizeof(float); }

 private:
  Floats data_;
  size_t next_ = 0;  // float
};

}  // namespace verlc::bench
