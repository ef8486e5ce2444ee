#include "recipe/sections/ref.hpp"

namespace verlc {

void RefSection::fields(FieldVisitor& v) {
  v.field(&log_prob_micro_batch_size_per_gpu, {.key = "log_prob_micro_batch_size_per_gpu",
                                               .min = 1,
                                               .max = 1 << 24,
                                               .unset = "actor.ppo_micro_batch_size_per_gpu",
                                               .help = "sequences per forward pass of a rank"});
  v.field(&log_prob_max_token_len_per_gpu,
          {.key = "log_prob_max_token_len_per_gpu",
           .min = 1,
           .unset = "actor.ppo_max_token_len_per_gpu",
           .help = "token budget of a forward pass with actor.use_dynamic_bsz"});
  v.section(fsdp_config, "fsdp_config", "sharding of the reference");
}

}  // namespace verlc
