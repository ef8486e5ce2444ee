// Rotary frequencies of config.json: default, linear, dynamic (NTK), llama3 and yarn scaling, after the
// definitions in transformers' modeling_rope_utils, in float32 as there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verlc {

struct RopeConfig {
  std::string type = "default";
  double theta = 10000.0;
  double factor = 1.0;
  int64_t max_position = 0;           ///< max_position_embeddings
  int64_t original_max_position = 0;  ///< 0 = max_position
  double low_freq_factor = 1.0;       ///< llama3
  double high_freq_factor = 4.0;      ///< llama3
  double beta_fast = 32.0;            ///< yarn
  double beta_slow = 1.0;             ///< yarn
  double mscale = 0.0;                ///< yarn; 0 = not given
  double mscale_all_dim = 0.0;        ///< yarn; 0 = not given
  double attention_factor = 0.0;      ///< yarn; 0 = computed
  bool truncate = true;               ///< yarn: round the correction range to whole dimensions
};

/// The scaling types that are understood.
const std::vector<std::string>& rope_types();

struct RopeFrequencies {
  std::vector<float> inv_freq;     ///< [head_dim / 2]
  float attention_scaling = 1.0f;  ///< multiplies cosines and sines
};

/// `length`: tokens of the sequence; it matters to "dynamic" beyond max_position alone.
RopeFrequencies rope_frequencies(const RopeConfig& config, int64_t head_dim, int64_t length);

}  // namespace verlc
