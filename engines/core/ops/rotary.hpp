// Rotary position embedding of q or k in Hugging Face's half-split layout (Su et al. 2021).
#pragma once

#include "core/ops/op.hpp"

namespace verlc {

/// Cosines and sines, one row per angle set, and the row that each token uses. Borrowed for the call.
struct RotaryView {
  const float* cos = nullptr;     ///< [rows, head_dim / 2]
  const float* sin = nullptr;     ///< [rows, head_dim / 2]
  const int32_t* rows = nullptr;  ///< [T]
  int64_t num_tokens = 0;
};

namespace ops {

/// in: x [T, num_heads * head_dim]. out: the same shape. The view must stay valid until backward has run.
class Rotary final : public Op {
 public:
  Rotary(RotaryView view, int64_t num_heads, int64_t head_dim)
      : view_(view), num_heads_(num_heads), head_dim_(head_dim) {}
  [[nodiscard]] std::string name() const override { return "rotary"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_inputs() const override { return false; }

 private:
  [[nodiscard]] Tensor rotated(const Context& context, const Tensor& x, bool inverse) const;

  RotaryView view_;
  int64_t num_heads_;
  int64_t head_dim_;
};

}  // namespace ops
}  // namespace verlc
