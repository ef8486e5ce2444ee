// What a model's forward needs beside its weights: the tape, the angles, and who holds keys and values.
#pragma once

#include "core/autograd/tape.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/ops/rotary.hpp"

namespace verlc {

/// The seam between a model and its keys and values: packed sequences in training, pages in generation.
class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  /// q [T, num_heads * head_dim], k and v [T, num_kv_heads * head_dim], rotated already. Returns the shape of
  /// q.
  virtual Var attend(Tape& tape, int64_t layer, const kernels::AttentionShape& shape, const Var& q,
                     const Var& k, const Var& v) = 0;
};

/// Borrowed parts; one per forward pass.
struct ForwardContext {
  Tape& tape;
  AttentionBackend& attention;
  RotaryView rotary;

  /// The same pass on another tape (recomputation).
  [[nodiscard]] ForwardContext on(Tape& other) const { return {other, attention, rotary}; }
};

}  // namespace verlc
