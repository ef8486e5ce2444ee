// RMSNorm (Zhang and Sennrich 2019) over rows: y = x * rsqrt(mean(x^2) + eps) * weight. One fixed reduction
// order per row, so a row's result depends on that row alone.
#pragma once

#include <cstdint>

#include "core/base/executor.hpp"

namespace verlc::kernels {

/// x, y: [R, D]; weight: [D]; inv_rms: [R], kept for the backward (may be null).
void rms_norm_forward(Executor& threads, const float* x, const float* weight, float eps, int64_t num_rows,
                      int64_t dim, float* y, float* inv_rms);
/// dx [R, D] is written; d_weight [D] is added to (null = frozen), rows in order whatever the thread count.
void rms_norm_backward(Executor& threads, const float* x, const float* weight, const float* inv_rms,
                       const float* dy, int64_t num_rows, int64_t dim, float* dx, float* d_weight);

}  // namespace verlc::kernels
