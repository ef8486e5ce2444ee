// The multiply-add limit of this machine at this moment, which every rate is set against.
#pragma once

#include <cstdint>

#include "core/base/executor.hpp"

namespace verlc::bench {

/// Multiply-adds and additions (2 per step and lane) that peak_loop(threads, steps) does.
double peak_flops(Executor& threads, int64_t steps);
/// `steps` rounds of independent multiply-adds in registers on every thread, on the CPU target in use.
void peak_loop(Executor& threads, int64_t steps);

}  // namespace verlc::bench
