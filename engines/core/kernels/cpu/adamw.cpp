#include <cmath>

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/split.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/adamw.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

HWY_ATTR void adamw_range(const AdamWFactors& f, float* HWY_RESTRICT param, const float* HWY_RESTRICT grad,
                          float* HWY_RESTRICT m, float* HWY_RESTRICT v, size_t n) {
  const AdamWFactors factors = f;
  for (size_t i = 0; i < n; ++i) {
    const float g = grad[i] * factors.grad_scale;
    const float mean = m[i] + (g - m[i]) * factors.mean_rate;
    const float square = v[i] * factors.beta2 + factors.square_rate * g * g;
    const float root = std::sqrt(square) / factors.root_correction + factors.eps;
    param[i] = param[i] * factors.decay - factors.step_size * (mean / root);
    m[i] = mean;
    v[i] = square;
  }
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
