#include "core/nn/decoder_layer.hpp"

#include "core/ops/add.hpp"
#include "core/ops/rms_norm.hpp"
#include "core/ops/swiglu.hpp"

namespace verlc {

Var apply_linear(const ForwardContext& context, const Var& x, const Parameter& weight,
                 const Parameter* bias) {
  std::vector<Var> in = {x, weight.var};
  if (bias != nullptr) in.push_back(bias->var);
  return context.tape.run(std::make_unique<ops::Linear>(&weight.packed), std::move(in));
}

Var apply_norm(const ForwardContext& context, const Var& x, const Parameter& weight, float eps) {
  return context.tape.run(std::make_unique<ops::RmsNorm>(eps), {x, weight.var});
}

DecoderLayer::DecoderLayer(const DecoderLayerConfig& config, Unit& unit, const std::string& prefix)
    : config_(config) {
  const int64_t hidden = config.hidden, dim = config.attention.head_dim;
  const int64_t q_width = config.attention.num_heads * dim, kv_width = config.attention.num_kv_heads * dim;
  const auto weight = [&](const std::string& name, int64_t out, int64_t in) {
    return &unit.add(prefix + name + ".weight", {out, in});
  };
  const auto bias = [&](bool present, const std::string& name, int64_t out) {
    return present ? &unit.add(prefix + name + ".bias", {out}, Init::zeros) : nullptr;
  };
  const auto norm = [&](const std::string& name, int64_t size) {
    return &unit.add(prefix + name + ".weight", {size}, Init::ones);
  };
  input_norm_ = norm("input_layernorm", hidden);
  q_ = weight("self_attn.q_proj", q_width, hidden);
  q_bias_ = bias(config.qkv_bias, "self_attn.q_proj", q_width);
  k_ = weight("self_attn.k_proj", kv_width, hidden);
  k_bias_ = bias(config.qkv_bias, "self_attn.k_proj", kv_width);
  v_ = weight("self_attn.v_proj", kv_width, hidden);
  v_bias_ = bias(config.qkv_bias, "self_attn.v_proj", kv_width);
  o_ = weight("self_attn.o_proj", hidden, q_width);
  o_bias_ = bias(config.output_bias, "self_attn.o_proj", hidden);
  if (config.qk_norm) {
    q_norm_ = norm("self_attn.q_norm", dim);
    k_norm_ = norm("self_attn.k_norm", dim);
  }
  post_norm_ = norm("post_attention_layernorm", hidden);
  gate_ = weight("mlp.gate_proj", config.intermediate, hidden);
  gate_bias_ = bias(config.mlp_bias, "mlp.gate_proj", config.intermediate);
  up_ = weight("mlp.up_proj", config.intermediate, hidden);
  up_bias_ = bias(config.mlp_bias, "mlp.up_proj", config.intermediate);
  down_ = weight("mlp.down_proj", hidden, config.intermediate);
  down_bias_ = bias(config.mlp_bias, "mlp.down_proj", hidden);
}

Var DecoderLayer::attention(const ForwardContext& context, int64_t layer, const Var& x) const {
  const kernels::AttentionShape& shape = config_.attention;
  Var q = apply_linear(context, x, *q_, q_bias_);
  Var k = apply_linear(context, x, *k_, k_bias_);
  const Var v = apply_linear(context, x, *v_, v_bias_);
  if (q_norm_ != nullptr) {
    q = apply_norm(context, q, *q_norm_, config_.norm_eps);
    k = apply_norm(context, k, *k_norm_, config_.norm_eps);
  }
  q = context.tape.run(std::make_unique<ops::Rotary>(context.rotary, shape.num_heads, shape.head_dim), {q});
  k = context.tape.run(std::make_unique<ops::Rotary>(context.rotary, shape.num_kv_heads, shape.head_dim),
                       {k});
  const Var out = context.attention.attend(context.tape, layer, shape, q, k, v);
  return apply_linear(context, out, *o_, o_bias_);
}

Var DecoderLayer::mlp(const ForwardContext& context, const Var& x) const {
  const Var gate = apply_linear(context, x, *gate_, gate_bias_);
  const Var up = apply_linear(context, x, *up_, up_bias_);
  return apply_linear(context, context.tape.run(std::make_unique<ops::Swiglu>(), {gate, up}), *down_,
                      down_bias_);
}

Var DecoderLayer::forward(const ForwardContext& context, int64_t layer, const Var& x) const {
  const Var attended = attention(context, layer, apply_norm(context, x, *input_norm_, config_.norm_eps));
  const Var middle = context.tape.run(std::make_unique<ops::Add>(), {x, attended});
  const Var mixed = mlp(context, apply_norm(context, middle, *post_norm_, config_.norm_eps));
  return context.tape.run(std::make_unique<ops::Add>(), {middle, mixed});
}

}  // namespace verlc
