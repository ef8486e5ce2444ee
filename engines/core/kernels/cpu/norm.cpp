#include "core/kernels/cpu/norm.hpp"

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/split.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "core/kernels/cpu/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace verlc::kernels::HWY_NAMESPACE {

HWY_ATTR void norm_row(const float* x, const float* weight, float eps, int64_t dim, float* y,
                       float* inv_rms) {
  const float mean = row_dot(x, x, nullptr, dim) / static_cast<float>(dim);
  const float inverse = 1.0F / std::sqrt(mean + eps);
  for (int64_t i = 0; i < dim; ++i) y[i] = x[i] * inverse * weight[i];
  if (inv_rms != nullptr) *inv_rms = inverse;
}

/// dx = inv (dy w - x inv^2 mean(dy w x)).
HWY_ATTR void norm_row_backward(const float* x, const float* weight, float inverse, const float* dy,
                                int64_t dim, float* dx) {
  const float mean = row_dot(dy, x, weight, dim) / static_cast<float>(dim);
  const float factor = mean * inverse * inverse;
  for (int64_t i = 0; i < dim; ++i) dx[i] = inverse * (dy[i] * weight[i] - x[i] * factor);
}

/// Columns [begin, end) of d_weight, rows in order.
HWY_ATTR void norm_weight(const float* x, const float* inv_rms, const float* dy, int64_t num_rows,
                          int64_t dim, int64_t begin, int64_t end, float* d_weight) {
  for (int64_t r = 0; r < num_rows; ++r) {
    const float inverse = inv_rms[r];
    const float* px = x + r * dim;
    const float* pdy = dy + r * dim;
    for (int64_t i = begin; i < end; ++i) d_weight[i] += pdy[i] * (px[i] * inverse);
  }
}

}  // namespace verlc::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verlc::kernels {

HWY_EXPORT(norm_row);
HWY_EXPORT(norm_row_backward);
HWY_EXPORT(norm_weight);

void rms_norm_forward(Executor& threads, const float* x, const float* weight, float eps, int64_t num_rows,
                      int64_t dim, float* y, float* inv_rms) {
  use_cpu_target();
  const auto row = HWY_DYNAMIC_DISPATCH(norm_row);
  for_ranges(threads, num_rows, 1, 1 + 16384 / (dim + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      row(x + r * dim, weight, eps, dim, y + r * dim, inv_rms == nullptr ? nullptr : inv_rms + r);
    }
  });
}

void rms_norm_backward(Executor& threads, const float* x, const float* weight, const float* inv_rms,
                       const float* dy, int64_t num_rows, int64_t dim, float* dx, float* d_weight) {
  use_cpu_target();
  if (d_weight != nullptr) {  // first, since dx may be dy
    const auto columns = HWY_DYNAMIC_DISPATCH(norm_weight);
    for_ranges(threads, dim, 16, 64, [&](int64_t begin, int64_t end) {
      columns(x, inv_rms, dy, num_rows, dim, begin, end, d_weight);
    });
  }
  const auto row = HWY_DYNAMIC_DISPATCH(norm_row_backward);
  for_ranges(threads, num_rows, 1, 1 + 16384 / (dim + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      row(x + r * dim, weight, inv_rms[r], dy + r * dim, dim, dx + r * dim);
  });
}

}  // namespace verlc::kernels
#endif
