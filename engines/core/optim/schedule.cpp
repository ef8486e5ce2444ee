#include "core/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.hpp"

namespace verlc {

double learning_rate(const Schedule& schedule, int64_t step) {
  // As torch's LambdaLR: the first update uses the factor of step 0.
  const double done = static_cast<double>(step - 1), warmup = static_cast<double>(schedule.warmup_steps);
  if (done < warmup) return schedule.lr * done / std::max(1.0, warmup);
  if (schedule.type == "constant") return schedule.lr;
  const double span = std::max(1.0, static_cast<double>(schedule.total_steps) - warmup);
  const double progress = std::clamp((done - warmup) / span, 0.0, 1.0);
  if (schedule.type == "linear") return schedule.lr * (1.0 - (1.0 - schedule.min_ratio) * progress);
  if (schedule.type == "cosine") {
    const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * schedule.num_cycles * 2.0 * progress));
    return schedule.lr * std::max(0.0, wave * (1.0 - schedule.min_ratio) + schedule.min_ratio);
  }
  fail_input({.what = "unknown schedule",
              .where = "actor.optim.lr_scheduler_type",
              .value = schedule.type,
              .fix = "use constant, cosine or linear"});
}

}  // namespace verlc
