#include "core/models/model.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/rng.hpp"
#include "core/ops/embedding.hpp"

namespace verlc {
namespace {

DecoderLayerConfig layer_config(const ModelConfig& config, size_t layer) {
  DecoderLayerConfig result;
  result.hidden = config.hidden;
  result.intermediate = config.intermediate;
  result.attention = {config.num_heads, config.num_kv_heads, config.head_dim, config.windows[layer],
                      1.0f / std::sqrt(static_cast<float>(config.head_dim))};
  result.norm_eps = static_cast<float>(config.norm_eps);
  result.qkv_bias = config.qkv_bias;
  result.output_bias = config.output_bias;
  result.mlp_bias = config.mlp_bias;
  result.qk_norm = config.qk_norm;
  return result;
}

}  // namespace

Model::Model(ModelConfig config) : config_(std::move(config)) {
  Unit& root = units_.emplace_back(Unit{"root", {}});
  embedding_ = &root.add("model.embed_tokens.weight", {config_.vocab, config_.hidden});
  norm_ = &root.add("model.norm.weight", {config_.hidden}, Init::ones);
  head_ = config_.tied_head ? embedding_ : &root.add("lm_head.weight", {config_.vocab, config_.hidden});
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const std::string name = "layers." + std::to_string(i);
    Unit& unit = units_.emplace_back(Unit{name, {}});
    layers_.emplace_back(layer_config(config_, static_cast<size_t>(i)), unit, "model." + name + ".");
  }
}

std::vector<Parameter*> Model::parameters() {
  std::vector<Parameter*> all;
  for (Unit& unit : units_)
    for (Parameter& parameter : unit.parameters) all.push_back(&parameter);
  return all;
}

int64_t Model::num_parameters() const {
  int64_t sum = 0;
  for (const Unit& unit : units_)
    for (const Parameter& parameter : unit.parameters) sum += num_elements(parameter.shape);
  return sum;
}

Var Model::embed(const ForwardContext& context, const Tensor& ids) const {
  return context.tape.run(std::make_unique<ops::Embedding>(ids, embedding_->packed.forward.precision),
                          {embedding_->var});
}

Var Model::layer(const ForwardContext& context, int64_t layer, const Var& x) const {
  return layers_[static_cast<size_t>(layer)].forward(context, layer, x);
}

Var Model::final_norm(const ForwardContext& context, const Var& x) const {
  return apply_norm(context, x, *norm_, static_cast<float>(config_.norm_eps));
}

void initialize(const Parameter& parameter, const ModelConfig& config, uint64_t seed, float* out) {
  const auto count = static_cast<size_t>(num_elements(parameter.shape));
  if (parameter.init != Init::normal) {
    std::fill_n(out, count, parameter.init == Init::ones ? 1.0f : 0.0f);
    return;
  }
  uint64_t name = 0;
  for (const char c : parameter.name) name = mix_seed(name, static_cast<unsigned char>(c));
  RandomStream random(seed, Purpose::init, name);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(random.normal() * config.initializer_range);
}

}  // namespace verlc
