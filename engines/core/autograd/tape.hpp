// The record of a forward pass and its backward walk.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/autograd/var.hpp"
#include "core/ops/op.hpp"

namespace verlc {

/// Single-threaded; one forward and one backward.
class Tape {
 public:
  /// recording = false: ops run and are forgotten (inference).
  Tape(const Context& context, bool recording) : context_(context), recording_(recording) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] bool recording() const { return recording_; }

  /// Runs the op; its outputs need a gradient when recording and any input does.
  std::vector<Var> apply(std::unique_ptr<Op> op, std::vector<Var> in);
  /// The first output of apply().
  Var run(std::unique_ptr<Op> op, std::vector<Var> in) { return apply(std::move(op), std::move(in)).front(); }

  /// Calls `action` when the backward walk passes this point. Not recorded when not recording.
  void on_backward(std::function<void()> action);

  /// Walks back from `out` with gradients `d_out` (undefined = none), whose memory is taken over. Entries are
  /// dropped as they are passed, so that saved tensors go as early as they can.
  void backward(std::span<const Var> out, std::span<const Tensor> d_out);

  /// Runs `body` without recording its inside and repeats it during backward: only `in` is kept.
  Var recompute(const Var& in, std::function<Var(Tape& tape, const Var& in)> body);

 private:
  struct Entry {
    std::unique_ptr<Op> op;
    std::vector<Var> in;
    std::vector<Var> out;
    std::function<void()> action;
  };
  void walk(Entry& entry);

  Context context_;
  bool recording_;
  std::vector<Entry> entries_;
};

}  // namespace verlc
