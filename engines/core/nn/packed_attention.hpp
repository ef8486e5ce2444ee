// Attention of training: whole sequences packed one after another, differentiable.
#pragma once

#include <memory>
#include <vector>

#include "core/nn/forward_context.hpp"

namespace verlc {

class PackedAttention final : public AttentionBackend {
 public:
  /// cu_seqlens: [S + 1], from 0 to T.
  explicit PackedAttention(std::shared_ptr<const std::vector<int32_t>> cu_seqlens)
      : cu_seqlens_(std::move(cu_seqlens)) {}
  Var attend(Tape& tape, int64_t layer, const kernels::AttentionShape& shape, const Var& q, const Var& k,
             const Var& v) override;

 private:
  std::shared_ptr<const std::vector<int32_t>> cu_seqlens_;
};

}  // namespace verlc
