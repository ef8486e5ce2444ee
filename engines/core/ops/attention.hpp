// Causal grouped-query attention over packed sequences.
#pragma once

#include <memory>
#include <vector>

#include "core/kernels/cpu/attention.hpp"
#include "core/ops/op.hpp"

namespace verlc::ops {

/// in: q [T, num_heads * head_dim], k and v [T, num_kv_heads * head_dim]. out: shape of q. Sequence s owns
/// the tokens [cu_seqlens[s], cu_seqlens[s + 1]) and sees no other.
class Attention final : public Op {
 public:
  Attention(kernels::AttentionShape shape, std::shared_ptr<const std::vector<int32_t>> cu_seqlens)
      : shape_(shape), cu_seqlens_(std::move(cu_seqlens)) {}
  [[nodiscard]] std::string name() const override { return "attention"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_outputs() const override { return true; }

 private:
  kernels::AttentionShape shape_;
  std::shared_ptr<const std::vector<int32_t>> cu_seqlens_;
  Tensor lse_;  // [T, num_heads]
};

}  // namespace verlc::ops
