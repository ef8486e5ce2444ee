// Helpers of the kernel tests: aligned buffers, random values, exact comparison, and a loop over the CPU
// targets.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/base/thread_pool.hpp"
#include "core/kernels/cpu/target.hpp"

namespace verlc::kernels::test {

template <typename T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <typename U>
  explicit Aligned(const Aligned<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{64}); }
  bool operator==(const Aligned&) const { return true; }
};

using Floats = std::vector<float, Aligned<float>>;
using Doubles = std::vector<double>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A small deterministic generator for test values.
class Values {
 public:
  explicit Values(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  /// Uniform in [-1, 1).
  float value() { return static_cast<float>(static_cast<double>(next() >> 40) / 8388608.0 - 1.0); }
  /// Uniform in [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  Floats floats(int64_t n, float factor = 1.0F) {
    Floats x(static_cast<size_t>(n));
    for (float& f : x) f = value() * factor;
    return x;
  }

 private:
  uint64_t state_;
};

inline Floats filled(int64_t n, float value = kNan) {
  return Floats(static_cast<size_t>(n), value);
}

inline bool same_bits(const float* a, const float* b, int64_t n) {
  return n == 0 || std::memcmp(a, b, static_cast<size_t>(n) * sizeof(float)) == 0;
}
inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

/// Largest |x - reference| / (|reference| + floor); NaN anywhere gives infinity.
inline double worst_error(const Floats& x, const Doubles& reference, double floor) {
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(x[i] - reference[i]) / (std::abs(reference[i]) + floor);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

/// Runs body(name) on every CPU target of this machine, then returns to the best one.
template <typename F>
void on_every_target(F&& body) {
  const std::vector<std::string> names = cpu_targets();
  for (const std::string& name : names) {
    set_cpu_target(name);
    INFO("target " << name);
    body(name);
  }
  set_cpu_target(names.front());
}

}  // namespace verlc::kernels::test
