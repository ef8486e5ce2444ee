// What a computation needs from outside: memory and threads. Passed down explicitly; there is no global one.
#pragma once

#include "core/base/executor.hpp"
#include "core/memory/allocator.hpp"
#include "core/tensor/tensor.hpp"

namespace verlc {

struct Context {
  Allocator& memory;
  Executor& threads;

  [[nodiscard]] Tensor empty(Shape shape, Category category = Category::activation,
                             DType dtype = DType::f32) const {
    return Tensor::empty(memory, std::move(shape), dtype, category);
  }
  [[nodiscard]] Tensor zeros(Shape shape, Category category, DType dtype = DType::f32) const {
    return Tensor::zeros(memory, std::move(shape), dtype, category);
  }
  /// Scratch of a kernel, released when the tensor goes.
  [[nodiscard]] Tensor scratch(size_t floats) const {
    return Tensor::empty(memory, {static_cast<int64_t>(floats)}, DType::f32, Category::work);
  }
};

}  // namespace verlc
