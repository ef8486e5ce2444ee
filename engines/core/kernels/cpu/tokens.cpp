// Rotary embedding and the token embedding: loops over tokens.
#include <cstring>

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/split.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/tokens.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

/// One head: (a, b) -> (a cos - b sin, b cos + a sin), `sign` -1 rotates backwards.
HWY_ATTR void rotate_head(float* x, const float* cos, const float* sin, int64_t half, float sign) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[half + i];
    const float s = sin[i] * sign;
    x[i] = a * cos[i] - b * s;
    x[half + i] = b * cos[i] + a * s;
  }
}

HWY_ATTR void add_to(const float* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(rotate_head);
HWY_EXPORT(add_to);

void rotary(Executor& threads, const float* x, float* y, const float* cos, const float* sin,
            const int32_t* positions, int64_t num_tokens, int64_t num_heads, int64_t head_dim, bool inverse) {
  use_cpu_target();
  const auto rotate = HWY_DYNAMIC_DISPATCH(rotate_head);
  const int64_t half = head_dim / 2;
  const int64_t row = num_heads * head_dim;
  for_ranges(threads, num_tokens, 1, 1 + 16384 / (row + 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t at = positions[t] * half;
      if (x != y) std::memcpy(y + t * row, x + t * row, static_cast<size_t>(row) * sizeof(float));
      for (int64_t h = 0; h < num_heads; ++h) {
        rotate(y + t * row + h * head_dim, cos + at, sin + at, half, inverse ? -1.0F : 1.0F);
      }
    }
  });
}

void embedding_forward(Executor& threads, const float* table, const int32_t* ids, int64_t num_tokens,
                       int64_t hidden, float* y) {
  for_ranges(threads, num_tokens, 1, 1 + 16384 / (hidden + 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      std::memcpy(y + t * hidden, table + int64_t{ids[t]} * hidden,
                  static_cast<size_t>(hidden) * sizeof(float));
    }
  });
}

void embedding_backward(Executor& threads, const int32_t* ids, const float* dy, int64_t num_tokens,
                        int64_t hidden, float* d_table) {
  use_cpu_target();
  const auto accumulate = HWY_DYNAMIC_DISPATCH(add_to);
  // Split by columns: each task walks all tokens in order.
  for_ranges(threads, hidden, 16, 64, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < num_tokens; ++t) {
      accumulate(dy + t * hidden + begin, end - begin, d_table + int64_t{ids[t]} * hidden + begin);
    }
  });
}

}  // namespace verlc::kernels
#endif
