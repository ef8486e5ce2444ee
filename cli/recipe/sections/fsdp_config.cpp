#include "recipe/sections/fsdp_config.hpp"

namespace verlc {

void FsdpConfigSection::fields(FieldVisitor& v) {
  v.field(&sharding,
          {.key = "sharding",
           .choices = {"full", "grad_op", "hybrid", "none"},
           .help = "shard everything, gradients and moments only, within groups of fsdp_size, or nothing"});
  v.field(&fsdp_size,
          {.key = "fsdp_size", .min = -1, .help = "hybrid: ranks of one shard group; -1 = all ranks"});
  v.field(&reshard_after_forward,
          {.key = "reshard_after_forward",
           .help = "free a block's gathered parameters between forward and backward"});
  v.field(&forward_prefetch,
          {.key = "forward_prefetch", .help = "gather the next block's parameters while this one computes"});
  v.field(
      &dtype,
      {.key = "dtype",
       .choices = {"float32", "bfloat16_weights", "bfloat16"},
       .help =
           "operands of the matrix products: float32, weights rounded to bfloat16, or both rounded; master "
           "weights, sums and moments are float32"});
  v.field(
      &pack_weights,
      {.key = "pack_weights",
       .help =
           "keep weights packed for the products while in use: faster, for the memory of two more copies"});
  v.field(&param_offload, {.key = "param_offload",
                           .help = "keep parameters in CPU memory between steps; no effect on a CPU device"});
  v.field(&optimizer_offload,
          {.key = "optimizer_offload",
           .help = "keep moments in CPU memory between steps; no effect on a CPU device"});
}

}  // namespace verlc
