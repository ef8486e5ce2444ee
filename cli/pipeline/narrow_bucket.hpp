// A bucket of weights with its matrices rounded to bfloat16, for a rollout whose products take them so: half
// the bytes cross, and the digest of what is sent is the digest of what is held.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "core/base/executor.hpp"
#include "verlc/plugin.hpp"

namespace verlc::pipeline {

class NarrowBucket {
 public:
  /// `bucket` and its float32 tensors must outlive this object.
  NarrowBucket(Executor& threads, std::span<const verlc_named_tensor* const> bucket);
  NarrowBucket(const NarrowBucket&) = delete;
  NarrowBucket& operator=(const NarrowBucket&) = delete;

  /// Vectors as they were, matrices as dense bfloat16 copies.
  [[nodiscard]] std::span<const verlc_named_tensor* const> weights() const { return weights_; }

 private:
  std::deque<plugin::NamedTensor> copies_;
  std::vector<const verlc_named_tensor*> weights_;
};

}  // namespace verlc::pipeline
