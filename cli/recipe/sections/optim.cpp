#include "recipe/sections/optim.hpp"

namespace verlc {

void OptimSection::fields(FieldVisitor& v) {
  v.field(&lr, {.key = "lr", .min = 0, .max = 10, .help = "peak learning rate"});
  v.field(&betas, {.key = "betas",
                   .min = 0,
                   .max = 1,
                   .below_max = true,
                   .length = 2,
                   .help = "AdamW decay of the first and second moment"});
  v.field(&eps, {.key = "eps", .min = 0, .max = 1, .above_min = true, .help = "AdamW epsilon"});
  v.field(&weight_decay, {.key = "weight_decay", .min = 0, .max = 1, .help = "decoupled weight decay"});
  v.field(&clip_grad,
          {.key = "clip_grad", .min = 0, .help = "largest global gradient norm; 0 = no clipping"});
  v.field(&lr_scheduler_type, {.key = "lr_scheduler_type",
                               .choices = {"constant", "cosine", "linear"},
                               .help = "shape after the warm-up"});
  v.field(&lr_warmup_steps, {.key = "lr_warmup_steps",
                             .min = 0,
                             .unset = "lr_warmup_steps_ratio of all steps",
                             .help = "optimizer steps of linear warm-up"});
  v.field(&lr_warmup_steps_ratio,
          {.key = "lr_warmup_steps_ratio", .min = 0, .max = 1, .help = "warm-up as a share of all steps"});
  v.field(&min_lr_ratio,
          {.key = "min_lr_ratio", .min = 0, .max = 1, .help = "lowest rate of the decay, as a share of lr"});
  v.field(&num_cycles,
          {.key = "num_cycles", .min = 0, .above_min = true, .help = "cosine waves; 0.5 = one fall"});
}

}  // namespace verlc
