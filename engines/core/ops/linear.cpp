#include "core/ops/linear.hpp"

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {
namespace {

void multiply_packed(const Context& context, const Tensor& x, const kernels::PackedMatrix& packed,
                     const float* bias, const Tensor& y, int64_t rows, int64_t n, int64_t k) {
  const Tensor scratch =
      context.scratch(static_cast<size_t>(kernels::gemm_packed_scratch_floats(packed.precision, rows, k)));
  kernels::gemm_packed(context.threads, x.f32(), packed, bias, y.f32(), rows, n, k, false, scratch.f32());
}

}  // namespace

namespace ops {

std::vector<Tensor> Linear::forward(const Context& context, std::span<const Tensor> in) {
  const Tensor &x = in[0], &w = in[1];
  const int64_t rows = num_rows(x), n = w.dim(0), k = w.dim(1);
  check(x.shape().back() == k, "linear: the input's last dimension is the weight's second");
  const float* bias = in.size() > 2 ? in[2].f32() : nullptr;
  Tensor y = context.empty(with_last(x.shape(), n));
  if (rows == 0) return {y};
  const kernels::PackedMatrix panels = panels_of(packed_).forward;
  if (panels.panels != nullptr) {
    multiply_packed(context, x, panels, bias, y, rows, n, k);
  } else {
    const Tensor scratch = context.scratch(kernels::gemm_scratch_floats(context.threads.threads()));
    kernels::gemm_nt(context.threads, x.f32(), w.f32(), bias, y.f32(), rows, n, k, false, scratch.f32());
  }
  return {y};
}

void Linear::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor>,
                      std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  const Tensor &x = in[0], &w = in[1], &dy = d_out[0];
  const int64_t rows = num_rows(x), n = w.dim(0), k = w.dim(1);
  // A rank without tokens still passes an (empty) gradient on, so that every hook of the walk is reached.
  if (rows == 0) return d_in[0].give(context, context.empty(x.shape()));
  const int threads = context.threads.threads();
  const PackedWeight packed = panels_of(packed_);
  if (d_in[0].wanted()) {
    Tensor dx = context.empty(x.shape());
    if (packed.backward.panels != nullptr) {
      multiply_packed(context, dy, packed.backward, nullptr, dx, rows, k, n);
    } else {
      const Tensor scratch = context.scratch(kernels::gemm_scratch_floats(threads));
      kernels::gemm_nn(context.threads, dy.f32(), w.f32(), dx.f32(), rows, n, k, false, scratch.f32());
    }
    d_in[0].give(context, std::move(dx));
  }
  if (d_in[1].wanted()) {
    const Tensor scratch = context.scratch(kernels::gemm_tn_scratch_floats(threads));
    kernels::gemm_tn(context.threads, packed.forward.precision, dy.f32(), x.f32(),
                     d_in[1].sum(context, w.shape()).f32(), rows, n, k, true, scratch.f32());
  }
  if (d_in.size() > 2 && d_in[2].wanted())
    kernels::add_column_sums(context.threads, dy.f32(), rows, n, d_in[2].sum(context, {n}).f32());
}

}  // namespace ops

namespace {

OpSample::Values linear_reference(const OpSample::Values& in, int64_t rows, int64_t n, int64_t k) {
  std::vector<double> y(static_cast<size_t>(rows * n));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      double sum = in.size() > 2 ? in[2][static_cast<size_t>(j)] : 0.0;
      for (int64_t i = 0; i < k; ++i)
        sum += in[0][static_cast<size_t>(r * k + i)] * in[1][static_cast<size_t>(j * k + i)];
      y[static_cast<size_t>(r * n + j)] = sum;
    }
  return {y};
}

}  // namespace

void op_linear(OpRegistry& registry) {
  const auto make = [] { return std::make_unique<ops::Linear>(); };
  registry.samples.push_back({"linear 5x7->9",
                              {normal_input({5, 7}, 1), normal_input({9, 7}, 2, 0.5)},
                              make,
                              [](const OpSample::Values& in) { return linear_reference(in, 5, 9, 7); }});
  registry.samples.push_back(
      {"linear with bias 2x3x20->50",
       {normal_input({2, 3, 20}, 3), normal_input({50, 20}, 4, 0.3), normal_input({50}, 5)},
       make,
       [](const OpSample::Values& in) { return linear_reference(in, 6, 50, 20); }});
}

}  // namespace verlc
