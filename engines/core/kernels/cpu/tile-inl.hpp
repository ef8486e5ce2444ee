// The one micro-kernel of every matrix product, attention included, compiled once per target:
//   c[r][v] (+)= sum over k in order of a[r][k] * b[k][v],   r < R rows, v < NV vectors,
// in segments of kSegment steps from k = 0: each is one fused multiply-add chain from 0 (unfused on the
// portable target), and the segments are added in order. So R, NV and the caller do not matter, as long as
// callers cut k only at multiples of kSegment; and the rounding error grows with the segment's length instead
// of k's.
#if defined(VERLC_KERNELS_TILE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef VERLC_KERNELS_TILE_INL_HPP
#undef VERLC_KERNELS_TILE_INL_HPP
#else
#define VERLC_KERNELS_TILE_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using FloatVec = hn::Vec<FloatTag>;
inline constexpr int kLanes = HWY_MIN(16, HWY_LANES(float));
/// Registers decide the tile: 32 of 16 lanes, or 16 of fewer.
inline constexpr bool kWide = kLanes == 16;
/// Steps of one chain.
inline constexpr int64_t kSegment = 128;

/// What a tile brings near while it computes: nothing; the panel to the first-level cache, 1.5 KiB ahead of
/// its use, the outputs, and what comes after this panel (Upcoming) to the second-level cache; or, when one
/// tile is all that reads the panel, the panel itself to the second-level cache, 16 KiB ahead.
enum class Fetch { none, near, far };

/// Memory that is read after this tile: `step` bytes of it are brought near at each step of the reduction.
struct Upcoming {
  const char* p = nullptr;
  ptrdiff_t step = 0;
};

template <Fetch kFetch>
HWY_INLINE void fetch_panel(const void* p) {
  constexpr ptrdiff_t kNear = 1536;
  constexpr ptrdiff_t kFar = 16384;
  if (kFetch != Fetch::none) __builtin_prefetch(static_cast<const char*>(p) + kNear, 0, 3);
  if (kFetch == Fetch::far) __builtin_prefetch(static_cast<const char*>(p) + kFar, 0, 2);
}

/// Strides in elements: `row` between rows, `k` between steps of the reduction, `vec` between vectors of a
/// row.
struct TileA {
  const float* p;
  ptrdiff_t row, k;
};
struct TileB {
  const float* p;
  ptrdiff_t k, vec;
};
struct TileC {
  float* p;
  ptrdiff_t row, vec;
};

/// acc += a * b over `steps` steps, one chain per element; moves both operands on.
template <int R, int NV, Fetch kFetch>
HWY_INLINE void run_chain(FloatVec (&acc)[R][NV], const float*& pa, const float*& pb, TileA a, TileB b,
                          int64_t steps, Upcoming& next) {
  const FloatTag d;
  for (int64_t i = 0; i < steps; ++i, pa += a.k, pb += b.k) {
    if (kFetch == Fetch::near) {
      __builtin_prefetch(next.p, 0, 2);
      next.p += next.step;
    }
    FloatVec bv[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) {
      bv[v] = hn::LoadU(d, pb + v * b.vec);
      fetch_panel<kFetch>(pb + v * b.vec);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const FloatVec av = hn::Set(d, pa[r * a.row]);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
  }
}

/// kChain: instead of segments, one chain over all k that goes on from c when from_c. It may be cut anywhere.
template <int R, int NV, Fetch kFetch, bool kChain>
HWY_ATTR HWY_NOINLINE void tile(TileA a, TileB b, TileC c, int64_t k, bool from_c, Upcoming next) {
  const FloatTag d;
  const float* pa = a.p;
  const float* pb = b.p;
  const int64_t segment = kChain ? k : kSegment;
  if (kFetch != Fetch::none) {
    // The lines of c come while the chain runs.
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) hwy::Prefetch(c.p + r * c.row + v * c.vec);
    }
  }
  for (int64_t k0 = 0; k0 < k || k0 == 0; k0 += segment) {
    const bool onto_c = from_c || k0 > 0;
    FloatVec acc[R][NV];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::Zero(d);
    }
    if (kChain && onto_c) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) acc[r][v] = hn::LoadU(d, c.p + r * c.row + v * c.vec);
      }
    }
    run_chain<R, NV, kFetch>(acc, pa, pb, a, b, HWY_MIN(segment, k - k0), next);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        float* out = c.p + r * c.row + v * c.vec;
        hn::StoreU(!kChain && onto_c ? hn::Add(hn::LoadU(d, out), acc[r][v]) : acc[r][v], d, out);
      }
    }
    if (kChain) return;
  }
}

/// body(std::integral_constant<int, count>) for a count from 1 to kMost known at run time only: the sizes of
/// a register tile are template parameters.
template <int kMost, typename F>
HWY_INLINE void with_count(int count, F&& body) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_count<kMost - 1>(count, body);
  }
  body(std::integral_constant<int, kMost>());
}

/// tile() for 1 to 8 rows (6 with four vectors, 4 with 16 registers).
template <int NV, Fetch kFetch, bool kChain = false>
HWY_ATTR void tile_rows(int rows, TileA a, TileB b, TileC c, int64_t k, bool from_c, Upcoming next = {}) {
  constexpr int kMost = !kWide ? 4 : NV <= 3 ? 8 : 6;
  with_count<kMost>(
      rows, [&](auto r) HWY_ATTR { tile<decltype(r)::value, NV, kFetch, kChain>(a, b, c, k, from_c, next); });
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
