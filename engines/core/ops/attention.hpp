// Causal grouped-query attention over packed sequences.
#pragma once

#include <memory>
#include <vector>

#include "core/kernels/cpu/attention.hpp"
#include "core/ops/op.hpp"

namespace verlc {

/// Owner of a kernels::PackedLayout, which has the rules.
struct PackedSegments {
  std::vector<int32_t> cu_seqlens;  ///< [S + 1], from 0 to T
  std::vector<int32_t> parent;      ///< [S], -1 = none; or empty

  [[nodiscard]] kernels::PackedLayout layout() const { return {cu_seqlens, parent}; }
};

namespace ops {

/// in: q [T, num_heads * head_dim], k and v [T, num_kv_heads * head_dim]. out: shape of q. A token sees the
/// tokens before it in its own segment and all of that segment's parent, no other. out is bit for bit what
/// every segment gives with a copy of its parent before it.
class Attention final : public Op {
 public:
  Attention(kernels::AttentionShape shape, std::shared_ptr<const PackedSegments> segments)
      : shape_(shape), segments_(std::move(segments)) {}
  [[nodiscard]] std::string name() const override { return "attention"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_outputs() const override { return true; }

 private:
  kernels::AttentionShape shape_;
  std::shared_ptr<const PackedSegments> segments_;
  Tensor lse_;  // [T, num_heads]
};

}  // namespace ops
}  // namespace verlc
