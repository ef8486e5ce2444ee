// panel_dot on vdpbf16ps: AVX-512 CPUs with the BF16 extension. Highway of Debian 12 has no such operation,
// hence intrinsics under a target attribute.
#include "core/kernels/cpu/gemm_table.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define VERLC_DOT_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace verlc::kernels {
namespace {

/// Pairs of one chain: 128 steps of k.
constexpr int64_t kSegmentPairs = 64;
constexpr int kVectors = 3;
/// Words ahead of their use at which a panel comes to the first- and the second-level cache.
constexpr ptrdiff_t kNear = 384;
constexpr ptrdiff_t kFar = 4096;

VERLC_DOT_TARGET inline __m512bh as_pairs(__m512i words) {
  return reinterpret_cast<__m512bh>(words);
}

/// next: brought to the second-level cache at `next_step` bytes a pair. Null: nobody else reads the panel,
/// which is brought itself.
template <int R>
VERLC_DOT_TARGET __attribute__((noinline)) void dot_tile(LeftPairs a, const uint32_t* b, float* c,
                                                         ptrdiff_t c_row, int64_t pairs, bool from_c,
                                                         const char* next, ptrdiff_t next_step) {
  const uint32_t* pa = a.p;
  if (next == nullptr) {
    next = reinterpret_cast<const char*>(b + kFar);
    next_step = kPanel * sizeof(uint32_t);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm_prefetch(c + r * c_row + v * 16, _MM_HINT_T0);
  }
  for (int64_t p0 = 0; p0 < pairs || p0 == 0; p0 += kSegmentPairs) {
    const int64_t steps = std::min(kSegmentPairs, pairs - p0);
    __m512 acc[R][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm512_setzero_ps();
    }
    for (int64_t i = 0; i < steps; ++i, pa += a.step, b += kPanel) {
      __m512bh bv[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        bv[v] = as_pairs(_mm512_loadu_si512(b + v * 16));
        _mm_prefetch(b + v * 16 + kNear, _MM_HINT_T0);
        _mm_prefetch(next + v * 64, _MM_HINT_T1);
      }
      next += next_step;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const __m512bh av = as_pairs(_mm512_set1_epi32(static_cast<int>(pa[r * a.row])));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm512_dpbf16_ps(acc[r][v], av, bv[v]);
      }
    }
    const bool onto_c = from_c || p0 > 0;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float* out = c + r * c_row + v * 16;
        _mm512_storeu_ps(out, onto_c ? _mm512_add_ps(_mm512_loadu_ps(out), acc[r][v]) : acc[r][v]);
      }
    }
  }
}

using DotTile = void (*)(LeftPairs a, const uint32_t* b, float* c, ptrdiff_t c_row, int64_t pairs,
                         bool from_c, const char* next, ptrdiff_t next_step);
constexpr DotTile kTiles[kTileRows] = {dot_tile<1>, dot_tile<2>, dot_tile<3>, dot_tile<4>,
                                       dot_tile<5>, dot_tile<6>, dot_tile<7>, dot_tile<8>};

void run_dot_panel(LeftPairs a, int64_t rows, const uint32_t* panel, int64_t pairs, PanelOut out,
                   Ahead ahead) {
  alignas(64) float buffer[kTileRows * kPanel] = {};
  const bool edge = out.columns < kPanel;
  const size_t bytes = static_cast<size_t>(out.columns) * sizeof(float);
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  const char* next = static_cast<const char*>(ahead.p == nullptr ? panel : ahead.p);
  if (tiles == 1 && ahead.p != nullptr) next = nullptr;
  const ptrdiff_t next_step = ahead.bytes / std::max<int64_t>(1, tiles * pairs);
  for (int64_t i = 0; i < rows; i += kTileRows, a.p += a.tile) {
    const int64_t count = std::min(kTileRows, rows - i);
    float* c = out.c + i * out.row;
    for (int64_t r = 0; edge && out.from_c && r < count; ++r)
      std::memcpy(buffer + r * kPanel, c + r * out.row, bytes);
    kTiles[count - 1](a, panel, edge ? buffer : c, edge ? kPanel : out.row, pairs, out.from_c, next,
                      next_step);
    if (next != nullptr) next += next_step * pairs;
    for (int64_t r = 0; edge && r < count; ++r) std::memcpy(c + r * out.row, buffer + r * kPanel, bytes);
  }
}

}  // namespace

DotPanel native_dot_panel() {
  return __builtin_cpu_supports("avx512bf16") != 0 ? &run_dot_panel : nullptr;
}

}  // namespace verlc::kernels

#else

namespace verlc::kernels {

DotPanel native_dot_panel() {
  return nullptr;
}

}  // namespace verlc::kernels

#endif
