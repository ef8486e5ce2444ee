// y = x w^T + bias (Hugging Face's weight layout).
#pragma once

#include "core/ops/op.hpp"

namespace verlc {

/// The panels of a weight as made by kernels::pack_weight / pack_weight_bf16; both null = use the rows.
struct PackedWeight {
  const float* f32 = nullptr;
  const uint16_t* bf16 = nullptr;
};

namespace ops {

/// in: x [.., K], w [N, K], optionally bias [N]. out: [.., N]. With panels, only the shape of w is read in
/// forward.
class Linear final : public Op {
 public:
  explicit Linear(PackedWeight packed = {}) : packed_(packed) {}
  [[nodiscard]] std::string name() const override { return "linear"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;

 private:
  PackedWeight packed_;
};

}  // namespace ops
}  // namespace verlc
