// One pre-norm decoder layer: grouped-query attention and a SwiGLU MLP, each around a residual.
#pragma once

#include "core/nn/forward_context.hpp"
#include "core/nn/parameter.hpp"

namespace verlc {

struct DecoderLayerConfig {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  kernels::AttentionShape attention;
  float norm_eps = 1e-5f;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  ///< RMSNorm over each head of q and k before the rotation
};

/// The slots of one layer inside a unit, by role. Null where the family has no such weight.
class DecoderLayer {
 public:
  /// Adds its slots to `unit` under "<prefix>self_attn.q_proj.weight" and so on.
  DecoderLayer(const DecoderLayerConfig& config, Unit& unit, const std::string& prefix);

  /// x [T, hidden] -> [T, hidden].
  [[nodiscard]] Var forward(const ForwardContext& context, int64_t layer, const Var& x) const;

 private:
  [[nodiscard]] Var attention(const ForwardContext& context, int64_t layer, const Var& x) const;
  [[nodiscard]] Var mlp(const ForwardContext& context, const Var& x) const;

  DecoderLayerConfig config_;
  Parameter *input_norm_ = nullptr, *post_norm_ = nullptr;
  Parameter *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *o_ = nullptr;
  Parameter *q_bias_ = nullptr, *k_bias_ = nullptr, *v_bias_ = nullptr, *o_bias_ = nullptr;
  Parameter *q_norm_ = nullptr, *k_norm_ = nullptr;
  Parameter *gate_ = nullptr, *up_ = nullptr, *down_ = nullptr;
  Parameter *gate_bias_ = nullptr, *up_bias_ = nullptr, *down_bias_ = nullptr;
};

/// y = x w^T + bias on the context's tape; bias may be null.
Var apply_linear(const ForwardContext& context, const Var& x, const Parameter& weight,
                 const Parameter* bias = nullptr);
/// RMSNorm on the context's tape.
Var apply_norm(const ForwardContext& context, const Var& x, const Parameter& weight, float eps);

}  // namespace verlc
