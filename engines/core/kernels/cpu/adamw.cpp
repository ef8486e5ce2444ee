#include <cmath>

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/split.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/adamw.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/cpu/math-inl.hpp"

#ifndef VERLC_KERNELS_ADAMW_ONCE
#define VERLC_KERNELS_ADAMW_ONCE
namespace verlc::kernels {
/// What one step needs, rounded to float32 once.
struct AdamWFactors {
  float grad_scale, decay, mean_rate, beta2, square_rate, root_correction, eps, step_size;
};
}  // namespace verlc::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

HWY_INLINE void adamw_step(const AdamWFactors& f, float* param, const float* grad, float* m, float* v) {
  const FloatTag d;
  for (int i = 0; i < kStep; i += kLanes) {
    const FloatVec g = hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, f.grad_scale));
    const FloatVec old_mean = hn::LoadU(d, m + i);
    const FloatVec mean = hn::Add(old_mean, hn::Mul(hn::Sub(g, old_mean), hn::Set(d, f.mean_rate)));
    const FloatVec square = hn::Add(hn::Mul(hn::LoadU(d, v + i), hn::Set(d, f.beta2)),
                                    hn::Mul(hn::Mul(hn::Set(d, f.square_rate), g), g));
    const FloatVec root =
        hn::Add(hn::Div(hn::Sqrt(square), hn::Set(d, f.root_correction)), hn::Set(d, f.eps));
    const FloatVec move = hn::Mul(hn::Set(d, f.step_size), hn::Div(mean, root));
    hn::StoreU(hn::Sub(hn::Mul(hn::LoadU(d, param + i), hn::Set(d, f.decay)), move), d, param + i);
    hn::StoreU(mean, d, m + i);
    hn::StoreU(square, d, v + i);
  }
}

HWY_ATTR void adamw_range(const AdamWFactors& f, float* param, const float* grad, float* m, float* v,
                          size_t n) {
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) adamw_step(f, param + i, grad + i, m + i, v + i);
  if (i == n) return;
  const size_t bytes = (n - i) * sizeof(float);
  alignas(64) float tail[4][kStep] = {};
  std::memcpy(tail[0], param + i, bytes);
  std::memcpy(tail[1], grad + i, bytes);
  std::memcpy(tail[2], m + i, bytes);
  std::memcpy(tail[3], v + i, bytes);
  adamw_step(f, tail[0], tail[1], tail[2], tail[3]);
  std::memcpy(param + i, tail[0], bytes);
  std::memcpy(m + i, tail[2], bytes);
  std::memcpy(v + i, tail[3], bytes);
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(adamw_range);

void adamw(Executor& threads, const AdamWStep& options, float* param, const float* grad, float* m, float* v,
           size_t n) {
  use_cpu_target();
  const double step = static_cast<double>(options.step);
  const double correction1 = 1.0 - std::pow(options.beta1, step);
  const double correction2 = 1.0 - std::pow(options.beta2, step);
  const AdamWFactors factors{
      .grad_scale = options.grad_scale,
      .decay = static_cast<float>(1.0 - options.lr * options.weight_decay),
      .mean_rate = static_cast<float>(1.0 - options.beta1),
      .beta2 = static_cast<float>(options.beta2),
      .square_rate = static_cast<float>(1.0 - options.beta2),
      .root_correction = static_cast<float>(std::sqrt(correction2)),
      .eps = static_cast<float>(options.eps),
      .step_size = static_cast<float>(options.lr / correction1),
  };
  const auto range = HWY_DYNAMIC_DISPATCH(adamw_range);
  for_ranges(threads, static_cast<int64_t>(n), 16, 16384, [&](int64_t begin, int64_t end) {
    range(factors, param + begin, grad + begin, m + begin, v + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace verlc::kernels
#endif
