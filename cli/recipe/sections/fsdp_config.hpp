// [actor.fsdp_config], [ref.fsdp_config]: how parameters, gradients and moments lie over ranks.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct FsdpConfigSection {
  std::string sharding = "full";  ///< full | grad_op | hybrid | none
  int64_t fsdp_size = -1;         ///< ranks of one shard group; -1 = all
  bool reshard_after_forward = true;
  bool forward_prefetch = true;
  std::string dtype = "float32";  ///< operands of the matrix products; must be rollout.dtype
  bool pack_weights = true;
  bool param_offload = false;      ///< no-op on a CPU device
  bool optimizer_offload = false;  ///< no-op on a CPU device

  void fields(FieldVisitor& visitor);
  bool operator==(const FsdpConfigSection&) const = default;
};

}  // namespace verlc
