// Qwen3: per-head norm of q and k, head_dim of its own.
#include "core/models/model_config.hpp"

namespace verlc {
namespace {

void read(const hf::Json& json, ModelConfig& config) {
  config.qk_norm = true;
  config.qkv_bias = config.output_bias = hf::json_bool(json, "attention_bias", config.file, false);
  config.windows = read_windows(json, config, false);
}

}  // namespace

void model_family_qwen3(ModelFamilies& families) {
  families.list.push_back({{"Qwen3ForCausalLM"}, read});
}

}  // namespace verlc
