#include "bench/peak.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/kernels/cpu/target.hpp"

namespace verlc::bench {
namespace {

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float peak512(int64_t steps) {
  __m512 acc[16];
  const __m512 a = _mm512_set1_ps(0.999F);
  const __m512 b = _mm512_set1_ps(1e-3F);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_fmadd_ps(acc[i], a, b);
  }
  float sum = 0;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sum += _mm512_cvtss_f32(acc[i]);
  return sum;
}
__attribute__((target("avx2,fma"))) float peak256(int64_t steps) {
  __m256 acc[12];
  const __m256 a = _mm256_set1_ps(0.999F);
  const __m256 b = _mm256_set1_ps(1e-3F);
#pragma GCC unroll 16
  for (int i = 0; i < 12; ++i) acc[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < 12; ++i) acc[i] = _mm256_fmadd_ps(acc[i], a, b);
  }
  float sum = 0;
#pragma GCC unroll 16
  for (int i = 0; i < 12; ++i) sum += _mm256_cvtss_f32(acc[i]);
  return sum;
}
#endif

volatile float sink;

bool is_wide() {
  return kernels::cpu_target().rfind("avx512", 0) == 0;
}

}  // namespace

double peak_flops(Executor& threads, int64_t steps) {
  return static_cast<double>(threads.threads()) * static_cast<double>(steps) *
         (is_wide() ? 16 * 16 * 2 : 12 * 8 * 2);
}

void peak_loop(Executor& threads, int64_t steps) {
  const bool wide = is_wide();
  threads.for_each(threads.threads(), [&]([[maybe_unused]] int i) {
#if defined(__x86_64__)
    sink = wide ? peak512(steps) : peak256(steps);
#endif
  });
}

}  // namespace verlc::bench
