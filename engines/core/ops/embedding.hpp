// Rows of a table by token id.
#pragma once

#include "core/kernels/cpu/precision.hpp"
#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: table [V, H]. ids: int32 [T], each in [0, V). out: [T, H].
class Embedding final : public Op {
 public:
  /// The narrow precisions round what is looked up to bfloat16.
  explicit Embedding(Tensor ids, kernels::Precision precision = kernels::Precision::f32)
      : ids_(std::move(ids)), precision_(precision) {}
  [[nodiscard]] std::string name() const override { return "embedding"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;

 private:
  Tensor ids_;
  kernels::Precision precision_;
};

}  // namespace verlc::ops
