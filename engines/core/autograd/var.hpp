// A value on the tape, and the cell that collects its gradient.
#pragma once

#include <memory>
#include <utility>

#include "core/tensor/tensor.hpp"

namespace verlc {

/// A handle: copies are the same value. The tensor can be taken away and put back (sharded weights between
/// uses).
class Var {
 public:
  Var() = default;
  /// A value that needs no gradient / one that does.
  static Var constant(Tensor value) { return Var(std::move(value), nullptr); }
  static Var leaf(Tensor value) { return Var(std::move(value), std::make_shared<Tensor>()); }

  [[nodiscard]] bool defined() const { return value_ != nullptr; }
  [[nodiscard]] const Tensor& value() const { return *value_; }
  void set_value(Tensor value) const { *value_ = std::move(value); }

  [[nodiscard]] bool requires_grad() const { return grad_ != nullptr; }
  /// Undefined until a gradient has arrived.
  [[nodiscard]] const Tensor& grad() const { return *grad_; }
  /// Where the gradient is to be summed (zero-filled by the caller), or an undefined tensor to forget it.
  void set_grad(Tensor grad) const { *grad_ = std::move(grad); }

 private:
  friend class Tape;
  Var(Tensor value, std::shared_ptr<Tensor> grad)
      : value_(std::make_shared<Tensor>(std::move(value))), grad_(std::move(grad)) {}

  std::shared_ptr<Tensor> value_;
  std::shared_ptr<Tensor> grad_;
};

}  // namespace verlc
