// Mistral: sliding window over all layers.
#include "core/models/model_config.hpp"

namespace verlc {
namespace {

void read(const hf::Json& json, ModelConfig& config) {
  config.windows = read_windows(json, config, true);
}

}  // namespace

void model_family_mistral(ModelFamilies& families) {
  families.list.push_back({{"MistralForCausalLM"}, read});
}

}  // namespace verlc
