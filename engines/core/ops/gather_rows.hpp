// Chosen rows of a matrix: the hidden states whose logits are wanted.
#pragma once

#include <vector>

#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: x [T, H]. rows: in any order; the gradients of a row taken several times are summed in that order.
/// out: [R, H].
class GatherRows final : public Op {
 public:
  explicit GatherRows(std::vector<int64_t> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] std::string name() const override { return "gather_rows"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_inputs() const override { return false; }

 private:
  std::vector<int64_t> rows_;
  Shape in_shape_;
};

}  // namespace verlc::ops
