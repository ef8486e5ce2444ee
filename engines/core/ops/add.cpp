#include "core/ops/add.hpp"

#include <cstring>

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> Add::forward(const Context& context, std::span<const Tensor> in) {
  check(in[0].size() == in[1].size(), "add: both inputs have one size");
  Tensor y = context.empty(in[0].shape());
  kernels::add(context.threads, in[0].f32(), in[1].f32(), y.f32(), static_cast<size_t>(y.size()));
  return {y};
}

void Add::backward(const Context& context, std::span<const Tensor>, std::span<const Tensor>,
                   std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  // The gradient is summed in place later, so the two inputs must not share one tensor.
  if (d_in[1].wanted()) {
    Tensor copy = context.empty(d_out[0].shape());
    if (copy.size() > 0) std::memcpy(copy.raw(), d_out[0].raw(), copy.bytes());
    d_in[1].give(context, std::move(copy));
  }
  d_in[0].give(context, d_out[0]);
}

}  // namespace ops

void op_add(OpRegistry& registry) {
  registry.samples.push_back({"add 4x33",
                              {normal_input({4, 33}, 31), normal_input({4, 33}, 32)},
                              [] { return std::make_unique<ops::Add>(); },
                              [](const OpSample::Values& in) {
                                std::vector<double> y(in[0].size());
                                for (size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] + in[1][i];
                                return OpSample::Values{y};
                              }});
}

}  // namespace verlc
