// RMSNorm over the last dimension, or over consecutive groups of weight-many elements (per-head norm of q and
// k).
#pragma once

#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: x [.., D * g], weight [D]. out: shape of x.
class RmsNorm final : public Op {
 public:
  explicit RmsNorm(float eps) : eps_(eps) {}
  [[nodiscard]] std::string name() const override { return "rms_norm"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;

 private:
  float eps_;
  Tensor inv_rms_;  // [rows]
};

}  // namespace verlc::ops
