// y = a + b (residual connection).
#pragma once

#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: a, b of one shape. out: the same shape.
class Add final : public Op {
 public:
  [[nodiscard]] std::string name() const override { return "add"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_inputs() const override { return false; }
};

}  // namespace verlc::ops
