#include "bench/peak.hpp"

#include <algorithm>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/check.hpp"
#include "core/kernels/cpu/target.hpp"

namespace verlc::bench {
namespace {

// Enough independent chains to fill two units of five cycles.
constexpr int kChains = 12;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float fma512(int64_t steps) {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.999F);
  const __m512 b = _mm512_set1_ps(1e-3F);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  }
  float sum = 0;
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum += _mm512_cvtss_f32(sums[i]);
  return sum;
}

__attribute__((target("avx512f,avx512bf16"))) float dot512(int64_t steps) {
  __m512 sums[kChains];
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3F7F3F7F));
  const auto b = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3A833A83));
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], a, b);
  }
  float sum = 0;
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum += _mm512_cvtss_f32(sums[i]);
  return sum;
}

__attribute__((target("avx2,fma"))) float fma256(int64_t steps) {
  __m256 sums[kChains];
  const __m256 a = _mm256_set1_ps(0.999F);
  const __m256 b = _mm256_set1_ps(1e-3F);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  }
  float sum = 0;
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum += _mm256_cvtss_f32(sums[i]);
  return sum;
}

#endif

constexpr int kPortableLanes = 4;

// What any CPU of the build's baseline does: four lanes, a product and a sum.
float portable(int64_t steps) {
  using Lanes [[gnu::vector_size(4 * kPortableLanes)]] = float;
  Lanes sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Lanes{} + static_cast<float>(i);
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * 0.999F + 1e-3F;
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += sums[i][0];
  return sum;
}

struct Loop {
  float (*run)(int64_t steps);
  int lanes;  // multiply-adds of one instruction
};

Loop loop_of(Arithmetic arithmetic) {
#if defined(__x86_64__)
  const std::string target = kernels::cpu_target();
  if (arithmetic == Arithmetic::bf16) {
    check(has_bf16_dot(), "the bfloat16 peak is measured where the CPU has the instruction");
    return {dot512, 32};
  }
  if (target.starts_with("avx512")) return {fma512, 16};
  if (target == "avx2") return {fma256, 8};
#endif
  check(arithmetic == Arithmetic::f32, "the bfloat16 peak is measured where the CPU has the instruction");
  return {portable, kPortableLanes};
}

// Reading far enough ahead of the sums that memory never waits for them.
constexpr size_t kAhead = 512;  // floats

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float sum512(const float* data, size_t count) {
  __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
  for (size_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 4
    for (size_t c = 0; c < 4; ++c) {
      __builtin_prefetch(data + i + 16 * c + kAhead);
      sums[c] = _mm512_add_ps(sums[c], _mm512_load_ps(data + i + 16 * c));
    }
  }
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

#endif

// Eight chains of four lanes.
float sum_portable(const float* data, size_t count) {
  using Lanes [[gnu::vector_size(16)]] = float;
  Lanes sums[8] = {};
  for (size_t i = 0; i + 32 <= count; i += 32) {
    __builtin_prefetch(data + i + kAhead);
    __builtin_prefetch(data + i + 16 + kAhead);
#pragma GCC unroll 8
    for (size_t c = 0; c < 8; ++c) sums[c] += *reinterpret_cast<const Lanes*>(data + i + 4 * c);
  }
  float sum = 0;
  for (const Lanes& lanes : sums) sum += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  return sum;
}

float sum_of(const float* data, size_t count) {
#if defined(__x86_64__)
  if (kernels::cpu_target().starts_with("avx512")) return sum512(data, count);
#endif
  return sum_portable(data, count);
}

}  // namespace

bool has_bf16_dot() {
  return kernels::cpu_target_has_bf16_dot();
}

double peak_flops(Executor& threads, Arithmetic arithmetic, int64_t steps) {
  return 2.0 * kChains * loop_of(arithmetic).lanes * static_cast<double>(steps) *
         static_cast<double>(threads.threads());
}

void peak_loop(Executor& threads, Arithmetic arithmetic, int64_t steps) {
  const Loop loop = loop_of(arithmetic);
  std::vector<float> sums(static_cast<size_t>(threads.threads()));
  threads.for_each(threads.threads(), [&](int i) { sums[static_cast<size_t>(i)] = loop.run(steps); });
  check(sums[0] == sums[0], "the peak loop stays finite");
}

ReadBuffer::ReadBuffer(size_t bytes) : data_(bytes / sizeof(float)) {
  for (size_t i = 0; i < data_.size(); ++i) data_.get()[i] = 1.0F;
}

float ReadBuffer::read(Executor& threads, size_t bytes) {
  const auto team = static_cast<size_t>(threads.threads());
  const size_t part = std::min(bytes, size()) / sizeof(float) / team / 64 * 64;
  if (next_ + part * team > data_.size()) next_ = 0;
  const float* begin = data_.get() + next_;
  next_ += part * team;
  std::vector<float> sums(team);
  threads.for_each(static_cast<int>(team), [&](int i) {
    const auto t = static_cast<size_t>(i);
    sums[t] = sum_of(begin + t * part, part);
  });
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

}  // namespace verlc::bench
