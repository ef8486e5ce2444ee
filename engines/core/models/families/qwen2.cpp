// Qwen2 and Qwen2.5: biases on q, k, v.
#include "core/models/model_config.hpp"

namespace verlc {
namespace {

void read(const hf::Json& json, ModelConfig& config) {
  config.qkv_bias = true;
  config.windows = read_windows(json, config, false);
}

}  // namespace

void model_family_qwen2(ModelFamilies& families) {
  families.list.push_back({{"Qwen2ForCausalLM"}, read});
}

}  // namespace verlc
