// Attention of training: whole sequences packed one after another, differentiable. Samples of a group may
// share the segment of their prompt.
#pragma once

#include <memory>

#include "core/nn/forward_context.hpp"
#include "core/ops/attention.hpp"

namespace verlc {

class PackedAttention final : public AttentionBackend {
 public:
  explicit PackedAttention(std::shared_ptr<const PackedSegments> segments) : segments_(std::move(segments)) {}
  Var attend(Tape& tape, int64_t layer, const kernels::AttentionShape& shape, const Var& q, const Var& k,
             const Var& v) override;

 private:
  std::shared_ptr<const PackedSegments> segments_;
};

}  // namespace verlc
