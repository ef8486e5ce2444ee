// Learning-rate schedules: a pure function of the step, so that resuming needs no state.
#pragma once

#include <cstdint>
#include <string>

namespace verlc {

/// verl's names. Warm-up rises linearly from 0 over `warmup_steps`; then "constant" stays, "cosine" falls
/// over `num_cycles` cosine waves (0.5 = one descent) and "linear" straight to min_ratio at total_steps.
struct Schedule {
  std::string type = "constant";
  double lr = 1e-6;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;  ///< needed by cosine and linear
  double min_ratio = 0.0;
  double num_cycles = 0.5;
};

/// Learning rate of step 1, 2, ... Throws Error(input) for an unknown type.
double learning_rate(const Schedule& schedule, int64_t step);

}  // namespace verlc
