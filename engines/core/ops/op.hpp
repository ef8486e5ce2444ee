// What an op is: a forward and its transpose over tensors, with samples that the generic tests, the gradient
// check and the benchmark share. An op is one file of this folder; the tape in autograd/ strings ops
// together.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/context.hpp"

namespace verlc {

/// Where backward puts the gradient of one input. Sums over all uses of the input.
class GradSlot {
 public:
  /// null = this input needs no gradient.
  explicit GradSlot(Tensor* grad) : grad_(grad) {}
  [[nodiscard]] bool wanted() const { return grad_ != nullptr; }

  /// Gives a finished gradient: kept when it is the first, added to the sum otherwise.
  void give(const Context& context, Tensor gradient) const;
  /// The running sum itself, made of zeros when there is none yet, for kernels that add.
  [[nodiscard]] Tensor& sum(const Context& context, const Shape& shape) const;

 private:
  Tensor* grad_;
};

/// One call of an op: holds its attributes and what it saves between forward and backward.
class Op {
 public:
  virtual ~Op() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Outputs in new memory. Inputs are float32 unless the op says otherwise; zero rows are legal everywhere.
  virtual std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) = 0;
  /// d_out[i] is undefined where no gradient arrived. Called at most once, after forward.
  virtual void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                        std::span<const Tensor> d_out, std::span<const GradSlot> d_in) = 0;
  /// Whether backward reads `in` / `out`; the tape drops what nobody reads.
  [[nodiscard]] virtual bool reads_inputs() const { return true; }
  [[nodiscard]] virtual bool reads_outputs() const { return false; }
};

/// One input of a sample, in float64.
struct SampleInput {
  Shape shape;
  std::vector<double> values;
  bool differentiable = true;
};

/// An op with concrete inputs and an independent float64 forward. `reference` maps inputs to all outputs.
struct OpSample {
  std::string name;
  std::vector<SampleInput> in;
  std::function<std::unique_ptr<Op>()> make;
  using Values = std::vector<std::vector<double>>;
  std::function<Values(const Values& in)> reference;
};

/// Filled by one function per op file, op_<file stem>(OpRegistry&).
struct OpRegistry {
  std::vector<OpSample> samples;
};

/// Every sample of every op.
std::vector<OpSample> all_op_samples();

/// Reproducible sample values, standard normal times `scale`.
SampleInput normal_input(Shape shape, uint64_t stream, double scale = 1.0);

/// Rows of a tensor seen as [R, last dim].
inline int64_t num_rows(const Tensor& tensor) {
  return tensor.shape().back() == 0 ? 0 : tensor.size() / tensor.shape().back();
}
/// The shape with another last dimension.
inline Shape with_last(Shape shape, int64_t last) {
  shape.back() = last;
  return shape;
}

}  // namespace verlc
