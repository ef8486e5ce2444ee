#include "core/ops/rms_norm.hpp"

#include <cmath>

#include "core/kernels/cpu/norm.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> RmsNorm::forward(const Context& context, std::span<const Tensor> in) {
  const Tensor &x = in[0], &weight = in[1];
  const int64_t dim = weight.size(), rows = x.size() / dim;
  check(rows * dim == x.size(), "rms_norm: the input is whole rows of the weight's size");
  Tensor y = context.empty(x.shape());
  inv_rms_ = context.empty({rows});
  if (rows > 0)
    kernels::rms_norm_forward(context.threads, x.f32(), weight.f32(), eps_, rows, dim, y.f32(),
                              inv_rms_.f32());
  return {y};
}

void RmsNorm::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor>,
                       std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  const Tensor &x = in[0], &weight = in[1];
  const int64_t dim = weight.size(), rows = x.size() / dim;
  if (rows == 0) return d_in[0].give(context, context.empty(x.shape()));
  Tensor dx = context.empty(x.shape());
  float* d_weight = d_in[1].wanted() ? d_in[1].sum(context, weight.shape()).f32() : nullptr;
  kernels::rms_norm_backward(context.threads, x.f32(), weight.f32(), inv_rms_.f32(), d_out[0].f32(), rows,
                             dim, dx.f32(), d_weight);
  d_in[0].give(context, std::move(dx));
}

}  // namespace ops

namespace {

OpSample::Values rms_reference(const OpSample::Values& in, double eps) {
  const size_t dim = in[1].size();
  std::vector<double> y(in[0].size());
  for (size_t begin = 0; begin < y.size(); begin += dim) {
    double square = 0;
    for (size_t i = 0; i < dim; ++i) square += in[0][begin + i] * in[0][begin + i];
    const double inverse = 1.0 / std::sqrt(square / static_cast<double>(dim) + eps);
    for (size_t i = 0; i < dim; ++i) y[begin + i] = in[0][begin + i] * inverse * in[1][i];
  }
  return {y};
}

}  // namespace

void op_rms_norm(OpRegistry& registry) {
  const auto make = [] { return std::make_unique<ops::RmsNorm>(1e-5f); };
  const auto reference = [](const OpSample::Values& in) { return rms_reference(in, 1e-5f); };
  registry.samples.push_back(
      {"rms_norm 4x37", {normal_input({4, 37}, 11), normal_input({37}, 12)}, make, reference});
  registry.samples.push_back(
      {"rms_norm of heads", {normal_input({3, 4, 8}, 13), normal_input({8}, 14)}, make, reference});
}

}  // namespace verlc
