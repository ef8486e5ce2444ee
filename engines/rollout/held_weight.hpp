// One weight as the engine holds it: matrices as panels for the products, vectors and the input table as they
// are.
#pragma once

#include <cstdint>

#include "core/base/weights_digest.hpp"
#include "core/nn/parameter.hpp"
#include "core/tensor/context.hpp"

namespace verlc::rollout {

/// vector: float32 as delivered. rows: an embedding table [V, H] that is looked up only. panels: a matrix [N,
/// K] that is multiplied with (an embedding that is the head as well is looked up in its panels, so that it
/// is held once).
enum class HeldForm { vector, rows, panels };

/// A weight's elements wherever they lie: `strides` in elements; bf16 or float32.
struct SourceTensor {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<int64_t> strides;  ///< empty = dense
};

class HeldWeight {
 public:
  /// Memory for the weight, contents undefined. The narrow precisions hold rows and panels in bfloat16.
  HeldWeight(const Context& context, const Parameter& parameter, HeldForm form, kernels::Precision precision);

  /// Copies the source into the form held. bfloat16 held from float32 rounds to nearest even.
  void set(const Context& context, const SourceTensor& source);
  /// Points the slot at what is held.
  void bind(Parameter& parameter) const;
  /// Row `row` of a table or matrix, as float32 [K].
  void read_row(int64_t row, float* out) const;
  /// Adds the weight under the dtype in which it was delivered, or "bf16" where rounding made that one-way.
  void add_to(const Context& context, WeightsDigest& digest) const;

 private:
  void set_rows(const Context& context, const float* dense, int64_t begin, int64_t end);
  [[nodiscard]] bool is_narrow() const { return kernels::is_narrow(precision_) && form_ != HeldForm::vector; }
  [[nodiscard]] kernels::PackedMatrix panels() const;
  void read_rows(const Context& context, float* out) const;

  std::string name_;
  Shape shape_;
  HeldForm form_;
  kernels::Precision precision_;
  DType delivered_ = DType::f32;
  Tensor storage_;
};

}  // namespace verlc::rollout
