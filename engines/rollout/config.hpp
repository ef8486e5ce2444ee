// The engine's configuration: one list of fields gives reading, defaults, ranges and the JSON schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/kernels/cpu/precision.hpp"
#include "core/models/model_config.hpp"
#include "core/tensor/dtype.hpp"

namespace verlc::rollout {

struct RolloutConfig {
  std::string model;  ///< Hugging Face folder
  std::string load_format =
      "auto";  ///< "auto", "dummy" (random weights from seed) or "none" (an update brings them)
  /// Of the products: "float32", "bfloat16_weights" (weights rounded) or "bfloat16" (both operands rounded);
  /// sums, attention and cache are float32.
  std::string dtype = "float32";
  int64_t block_size = 16;
  int64_t max_num_seqs = 256;
  int64_t max_num_batched_tokens = 2048;
  int64_t max_model_len = 0;   ///< 0 = max_position_embeddings
  int64_t kv_cache_bytes = 0;  ///< 0 = enough for max_num_seqs sequences of max_model_len, capped
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  int64_t seed = 0;

  [[nodiscard]] kernels::Precision precision() const { return *kernels::parse_precision(dtype); }
};

/// Reads and checks the JSON object of create(). Error(input) names key, value, rule and, for an unknown key,
/// the nearest ones.
RolloutConfig parse_rollout_config(std::string_view json);

/// What describe() gives for verlc.rollout/1: {"config": JSON schema, "devices", "dtypes", ...}.
std::string describe_rollout();

/// Sizes that follow from the configuration and the model.
struct CachePlan {
  int64_t max_model_len = 0;
  int64_t page_size = 0;
  int64_t num_pages = 0;
  int64_t page_floats = 0;  ///< of keys and values, one layer

  [[nodiscard]] int64_t page_bytes(int64_t num_layers) const { return page_floats * num_layers * 4; }
};

/// free_bytes: what memory there is for the cache when kv_cache_bytes is 0 (then at most half of it is taken,
/// but always one whole sequence). Error(input) when max_model_len is beyond the model's positions.
CachePlan plan_cache(const RolloutConfig& config, const ModelConfig& model, int64_t free_bytes);

}  // namespace verlc::rollout
