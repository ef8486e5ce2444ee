// y = x w^T + bias (Hugging Face's weight layout).
#pragma once

#include "core/kernels/cpu/gemm.hpp"
#include "core/ops/op.hpp"

namespace verlc {

/// The panels of a weight [N, K] that the engine keeps; without panels the rows are used, in float32. The
/// precision stands in `forward` also for a table that is only looked up and has no panels.
struct PackedWeight {
  kernels::PackedMatrix forward;   ///< of kernels::pack_weight: y = x w^T
  kernels::PackedMatrix backward;  ///< of kernels::pack_weight_transposed: dx = dy w
};

/// What `packed` points to, or no panels.
inline PackedWeight panels_of(const PackedWeight* packed) {
  return packed == nullptr ? PackedWeight{} : *packed;
}

namespace ops {

/// in: x [.., K], w [N, K], optionally bias [N]. out: [.., N]. With panels, only the shape of w is read. The
/// products are those of the panels' precision; dw with precision bf16 rounds x and dy.
class Linear final : public Op {
 public:
  /// packed: null = none; read at each call, so that panels may come and go between forward and backward.
  explicit Linear(const PackedWeight* packed = nullptr) : packed_(packed) {}
  [[nodiscard]] std::string name() const override { return "linear"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;

 private:
  const PackedWeight* packed_;
};

}  // namespace ops
}  // namespace verlc
