#include "core/kernels/cpu/elementwise.hpp"

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/split.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/bf16-inl.hpp"
#include "core/kernels/cpu/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

HWY_ATTR void add_range(const float* a, const float* b, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

HWY_ATTR void scale_range(const float* a, float s, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = a[i] * s;
}

HWY_ATTR void widen_range(const uint16_t* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = widen_one(x[i]);
}

HWY_ATTR void round_range(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = widen_one(narrow_one(x[i]));
}

HWY_ATTR void narrow_range(const float* x, uint16_t* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = narrow_one(x[i]);
}

HWY_INLINE FloatVec sigmoid(FloatTag d, FloatVec x) {
  const FloatVec one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_vec(d, hn::Neg(x))));
}

HWY_INLINE void swiglu_step(const float* gate, const float* up, float* y) {
  const FloatTag d;
  for (int v = 0; v < kStep; v += kLanes) {
    const FloatVec g = hn::LoadU(d, gate + v);
    hn::StoreU(hn::Mul(hn::Mul(g, sigmoid(d, g)), hn::LoadU(d, up + v)), d, y + v);
  }
}

HWY_INLINE void swiglu_backward_step(const float* gate, const float* up, const float* dy, float* d_gate,
                                     float* d_up) {
  const FloatTag d;
  const FloatVec one = hn::Set(d, 1.0F);
  for (int v = 0; v < kStep; v += kLanes) {
    const FloatVec g = hn::LoadU(d, gate + v);
    const FloatVec grad = hn::LoadU(d, dy + v);
    const FloatVec s = sigmoid(d, g);
    const FloatVec silu = hn::Mul(g, s);
    const FloatVec slope = hn::Mul(s, hn::Add(one, hn::Sub(g, silu)));  // s (1 + g (1 - s))
    const FloatVec to_gate = hn::Mul(hn::Mul(grad, hn::LoadU(d, up + v)), slope);
    hn::StoreU(hn::Mul(grad, silu), d, d_up + v);
    hn::StoreU(to_gate, d, d_gate + v);
  }
}

HWY_ATTR void swiglu_range(const float* gate, const float* up, float* y, size_t n) {
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) swiglu_step(gate + i, up + i, y + i);
  if (i == n) return;
  const int64_t rest = static_cast<int64_t>(n - i);
  alignas(64) float tail[3][kStep];
  swiglu_step(padded_tail(gate + i, rest, 0, tail[0]), padded_tail(up + i, rest, 0, tail[1]), tail[2]);
  std::memcpy(y + i, tail[2], static_cast<size_t>(rest) * sizeof(float));
}

HWY_ATTR void swiglu_backward_range(const float* gate, const float* up, const float* dy, float* d_gate,
                                    float* d_up, size_t n) {
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) swiglu_backward_step(gate + i, up + i, dy + i, d_gate + i, d_up + i);
  if (i == n) return;
  const int64_t rest = static_cast<int64_t>(n - i);
  alignas(64) float tail[5][kStep];
  swiglu_backward_step(padded_tail(gate + i, rest, 0, tail[0]), padded_tail(up + i, rest, 0, tail[1]),
                       padded_tail(dy + i, rest, 0, tail[2]), tail[3], tail[4]);
  std::memcpy(d_gate + i, tail[3], static_cast<size_t>(rest) * sizeof(float));
  std::memcpy(d_up + i, tail[4], static_cast<size_t>(rest) * sizeof(float));
}

HWY_ATTR void column_sums(const float* x, int64_t num_rows, int64_t dim, int64_t begin, int64_t end,
                          float* y) {
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t i = begin; i < end; ++i) y[i] += x[r * dim + i];
  }
}

/// Four vectors of float64 chains over one block, then their sum, then the last elements one by one.
HWY_ATTR double block_squares(const float* x, size_t n) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> narrow;
  using DoubleVec = hn::Vec<decltype(d)>;
  constexpr size_t kChains = 4;
  const size_t lanes = hn::Lanes(d);
  DoubleVec acc[kChains] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  size_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
#pragma GCC unroll 4
    for (size_t c = 0; c < kChains; ++c) {
      const DoubleVec value = hn::PromoteTo(d, hn::LoadU(narrow, x + i + c * lanes));
      acc[c] = hn::MulAdd(value, value, acc[c]);
    }
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(acc[0], acc[1]), hn::Add(acc[2], acc[3]))));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(add_range);
HWY_EXPORT(scale_range);
HWY_EXPORT(widen_range);
HWY_EXPORT(narrow_range);
HWY_EXPORT(round_range);
HWY_EXPORT(swiglu_range);
HWY_EXPORT(swiglu_backward_range);
HWY_EXPORT(column_sums);
HWY_EXPORT(block_squares);

namespace {

constexpr int64_t kLeast = 16384;  // elements worth a task

/// Borders at multiples of 16, so that only the last part of a row loop has a tail.
template <typename F>
void over(Executor& threads, size_t n, F&& body) {
  use_cpu_target();
  for_ranges(threads, static_cast<int64_t>(n), 16, kLeast, [&](int64_t begin, int64_t end) {
    body(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  });
}

}  // namespace

void add(Executor& threads, const float* a, const float* b, float* y, size_t n) {
  over(threads, n, [&](size_t i, size_t count) {
    HWY_DYNAMIC_DISPATCH(add_range)(a + i, b + i, y + i, count);
  });
}

void scale(Executor& threads, const float* a, float s, float* y, size_t n) {
  over(threads, n, [&](size_t i, size_t count) {
    HWY_DYNAMIC_DISPATCH(scale_range)(a + i, s, y + i, count);
  });
}

void swiglu_forward(Executor& threads, const float* gate, const float* up, float* y, size_t n) {
  over(threads, n, [&](size_t i, size_t count) {
    HWY_DYNAMIC_DISPATCH(swiglu_range)(gate + i, up + i, y + i, count);
  });
}

void swiglu_backward(Executor& threads, const float* gate, const float* up, const float* dy, float* d_gate,
                     float* d_up, size_t n) {
  over(threads, n, [&](size_t i, size_t count) {
    HWY_DYNAMIC_DISPATCH(swiglu_backward_range)(gate + i, up + i, dy + i, d_gate + i, d_up + i, count);
  });
}

void add_column_sums(Executor& threads, const float* x, int64_t num_rows, int64_t dim, float* y) {
  use_cpu_target();
  for_ranges(threads, dim, 16, 1 + kLeast / (num_rows + 1), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sums)(x, num_rows, dim, begin, end, y);
  });
}

double sum_of_squares(Executor& threads, const float* x, size_t n) {
  use_cpu_target();
  constexpr int64_t kBlock = 4096;
  constexpr int64_t kWave = 1024;  // blocks between two sums of partial results
  const int64_t size = static_cast<int64_t>(n);
  const int64_t blocks = (size + kBlock - 1) / kBlock;
  double partial[kWave];
  double sum = 0;
  for (int64_t first = 0; first < blocks; first += kWave) {
    const int64_t count = std::min(kWave, blocks - first);
    for_ranges(threads, count, 1, 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t at = (first + b) * kBlock;
        partial[b] =
            HWY_DYNAMIC_DISPATCH(block_squares)(x + at, static_cast<size_t>(std::min(kBlock, size - at)));
      }
    });
    for (int64_t b = 0; b < count; ++b) sum += partial[b];
  }
  return sum;
}

void widen_bf16(Executor& threads, const uint16_t* x, float* y, size_t n) {
  over(threads, n, [&](size_t i, size_t count) { HWY_DYNAMIC_DISPATCH(widen_range)(x + i, y + i, count); });
}

void fill_zero(Executor& threads, float* x, size_t n) {
  over(threads, n, [&](size_t i, size_t count) { std::memset(x + i, 0, count * sizeof(float)); });
}

void round_to_bf16(Executor& threads, float* x, size_t n) {
  over(threads, n, [&](size_t i, size_t count) { HWY_DYNAMIC_DISPATCH(round_range)(x + i, count); });
}

void narrow_bf16(Executor& threads, const float* x, uint16_t* y, size_t n) {
  over(threads, n, [&](size_t i, size_t count) { HWY_DYNAMIC_DISPATCH(narrow_range)(x + i, y + i, count); });
}

}  // namespace verlc::kernels
#endif
