// SwiGLU: y = silu(gate) * up (Shazeer 2020).
#pragma once

#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: gate, up of one shape. out: the same shape.
class Swiglu final : public Op {
 public:
  [[nodiscard]] std::string name() const override { return "swiglu"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
};

}  // namespace verlc::ops
