// Llama 1 to 3 and models of its shape (SmolLM2, TinyLlama, ...).
#include "core/models/model_config.hpp"

namespace verlc {
namespace {

void read(const hf::Json& json, ModelConfig& config) {
  config.qkv_bias = config.output_bias = hf::json_bool(json, "attention_bias", config.file, false);
  config.mlp_bias = hf::json_bool(json, "mlp_bias", config.file, false);
}

}  // namespace

void model_family_llama(ModelFamilies& families) {
  families.list.push_back({{"LlamaForCausalLM"}, read});
}

}  // namespace verlc
