#include "core/ops/op.hpp"

#include "core/base/rng.hpp"
#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {

void op_all(OpRegistry& registry);

void GradSlot::give(const Context& context, Tensor gradient) const {
  if (grad_ == nullptr) return;
  if (!grad_->defined()) {
    *grad_ = std::move(gradient);
    return;
  }
  check(grad_->size() == gradient.size(), "gradients of one value have one size");
  kernels::add(context.threads, grad_->f32(), gradient.f32(), grad_->f32(),
               static_cast<size_t>(gradient.size()));
}

Tensor& GradSlot::sum(const Context& context, const Shape& shape) const {
  check(grad_ != nullptr, "only a wanted gradient is summed");
  if (!grad_->defined()) *grad_ = context.zeros(shape, Category::grad);
  return *grad_;
}

std::vector<OpSample> all_op_samples() {
  OpRegistry registry;
  op_all(registry);
  return std::move(registry.samples);
}

SampleInput normal_input(Shape shape, uint64_t stream, double scale) {
  RandomStream random(1, Purpose::test, stream);
  std::vector<double> values(static_cast<size_t>(num_elements(shape)));
  // Through float32, so that the reference starts from the very numbers that the op sees.
  for (double& value : values) value = static_cast<float>(random.normal() * scale);
  return {std::move(shape), std::move(values), true};
}

}  // namespace verlc
