// [actor.optim]: AdamW and its schedule.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct OptimSection {
  double lr = 1e-6;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  double clip_grad = 1.0;                      ///< largest global norm; 0 = no clipping
  std::string lr_scheduler_type = "constant";  ///< constant | cosine | linear
  std::optional<int64_t> lr_warmup_steps;      ///< unset: ratio * total steps
  double lr_warmup_steps_ratio = 0.0;
  double min_lr_ratio = 0.0;  ///< lowest rate of the decay over lr
  double num_cycles = 0.5;    ///< cosine waves

  void fields(FieldVisitor& visitor);
  bool operator==(const OptimSection&) const = default;
};

}  // namespace verlc
