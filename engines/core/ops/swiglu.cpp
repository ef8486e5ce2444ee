#include "core/ops/swiglu.hpp"

#include <cmath>

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> Swiglu::forward(const Context& context, std::span<const Tensor> in) {
  check(in[0].size() == in[1].size(), "swiglu: gate and up have one size");
  Tensor y = context.empty(in[0].shape());
  kernels::swiglu_forward(context.threads, in[0].f32(), in[1].f32(), y.f32(), static_cast<size_t>(y.size()));
  return {y};
}

void Swiglu::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor>,
                      std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  Tensor d_gate = context.empty(in[0].shape()), d_up = context.empty(in[1].shape());
  kernels::swiglu_backward(context.threads, in[0].f32(), in[1].f32(), d_out[0].f32(), d_gate.f32(),
                           d_up.f32(), static_cast<size_t>(d_gate.size()));
  d_in[0].give(context, std::move(d_gate));
  d_in[1].give(context, std::move(d_up));
}

}  // namespace ops

void op_swiglu(OpRegistry& registry) {
  registry.samples.push_back({"swiglu 3x19",
                              {normal_input({3, 19}, 21, 2.0), normal_input({3, 19}, 22)},
                              [] { return std::make_unique<ops::Swiglu>(); },
                              [](const OpSample::Values& in) {
                                std::vector<double> y(in[0].size());
                                for (size_t i = 0; i < y.size(); ++i)
                                  y[i] = in[0][i] / (1.0 + std::exp(-in[0][i])) * in[1][i];
                                return OpSample::Values{y};
                              }});
}

}  // namespace verlc
