// config.json of a causal language model, read into one struct that every family shares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/hf/json_value.hpp"
#include "core/nn/rope.hpp"

namespace verlc {

struct ModelConfig {
  std::string architecture;  ///< "LlamaForCausalLM"
  std::string file;          ///< where it was read, for messages
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_position = 0;
  double norm_eps = 1e-5;
  double initializer_range = 0.02;
  bool tied_head = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  std::vector<int64_t> windows;  ///< per layer: keys visible to a query; 0 = all
  RopeConfig rope;
  std::string dtype;  ///< "float32", "bfloat16", "float16": type of the stored weights as config.json says
};

/// A family is one file of models/families: which architectures it reads and how.
struct ModelFamily {
  std::vector<std::string> architectures;
  /// Adds what is the family's own to a config that read_common_config has filled.
  void (*read)(const hf::Json& json, ModelConfig& config) = nullptr;
};

struct ModelFamilies {
  std::vector<ModelFamily> list;
};

/// Architectures that can be read, sorted.
std::vector<std::string> supported_architectures();

/// Reads and checks config.json of a model folder; no weights are touched. Throws Error(input) naming file,
/// key, value and rule; an unknown architecture is named beside the supported ones.
ModelConfig read_model_config(const std::filesystem::path& folder);
ModelConfig parse_model_config(const hf::Json& json, const std::string& where);

/// Windows from sliding_window, use_sliding_window, layer_types and max_window_layers. `on` = the family's
/// default of use_sliding_window.
std::vector<int64_t> read_windows(const hf::Json& json, const ModelConfig& config, bool on);

}  // namespace verlc
