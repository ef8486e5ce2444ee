// Log-prob of a target and entropy of the next-token distribution, fused with the output head.
#pragma once

#include <vector>

#include "core/ops/linear.hpp"

namespace verlc::ops {

/// in: h [R, H], head [V, H]. out: logp [R] of targets[r] under softmax(h head^T * inv_temperature[r]), and,
/// when asked for, entropy [R] (else undefined). No [R, V] tensor is made.
class VocabLogprob final : public Op {
 public:
  VocabLogprob(std::vector<int32_t> targets, std::vector<float> inv_temperature, bool with_entropy,
               const PackedWeight* packed = nullptr)
      : targets_(std::move(targets)),
        inv_temperature_(std::move(inv_temperature)),
        with_entropy_(with_entropy),
        packed_(packed) {}
  [[nodiscard]] std::string name() const override { return "vocab_logprob"; }
  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override;
  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override;
  [[nodiscard]] bool reads_outputs() const override { return true; }

 private:
  std::vector<int32_t> targets_;
  std::vector<float> inv_temperature_;
  bool with_entropy_;
  const PackedWeight* packed_;
  Tensor lse_;  // [R]
};

}  // namespace verlc::ops
