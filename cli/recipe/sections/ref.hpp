// [ref]: the reference policy of the KL terms; it exists only when one of them is on.
#pragma once

#include "recipe/sections/fsdp_config.hpp"

namespace verlc {

struct RefSection {
  std::optional<int64_t> log_prob_micro_batch_size_per_gpu;  ///< after loading: the actor's when not given
  std::optional<int64_t> log_prob_max_token_len_per_gpu;     ///< always set after loading
  FsdpConfigSection fsdp_config;

  void fields(FieldVisitor& visitor);
  bool operator==(const RefSection&) const = default;
};

}  // namespace verlc
