// The engine's configuration, as the host sends it in JSON.
#pragma once

#include <string>
#include <string_view>

#include "core/hf/json_value.hpp"
#include "core/kernels/cpu/precision.hpp"

namespace verlc::fsdp {

/// How weights, gradients and moments lie over the ranks of a group.
enum class Sharding {
  full,     ///< all three sharded; weights gathered for a layer and dropped after it (ZeRO-3)
  grad_op,  ///< gradients and moments sharded; weights gathered once per optimizer step (ZeRO-2)
  hybrid,   ///< full inside groups of fsdp_size ranks, copies across the groups
  none,     ///< everything on every rank (DDP)
};

struct Config {
  std::string model;                ///< folder with config.json and, unless init is "random", the weights
  std::string init = "checkpoint";  ///< "checkpoint", "random", or "none": load() brings the weights
  uint64_t seed = 1;                ///< of random weights
  bool trainable = true;            ///< false: a reference; no gradients, no moments
  Sharding sharding = Sharding::full;
  int64_t fsdp_size = -1;  ///< ranks of a hybrid group
  bool reshard_after_forward = true;
  bool forward_prefetch = true;
  /// Operands of the matrix products; master weights, sums, gradients and moments are float32.
  std::string dtype = "float32";
  bool pack_weights = true;  ///< keep panels beside the weights in use: once per step without sharding
  bool gradient_checkpointing = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;

  [[nodiscard]] kernels::Precision precision() const { return *kernels::parse_precision(dtype); }
  /// The narrow precisions have no other form.
  [[nodiscard]] bool packs_weights() const { return pack_weights || kernels::is_narrow(precision()); }
};

/// Throws Error(input) naming the key and, for an unknown one, the nearest.
Config parse_config(std::string_view json);

/// JSON schema of the configuration, with defaults, for describe().
hf::Json config_schema();

}  // namespace verlc::fsdp
