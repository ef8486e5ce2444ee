#include "core/ops/gather_rows.hpp"

#include <cstring>

namespace verlc {
namespace ops {

std::vector<Tensor> GatherRows::forward(const Context& context, std::span<const Tensor> in) {
  in_shape_ = in[0].shape();
  const int64_t width = in[0].dim(1);
  Tensor y = context.empty({static_cast<int64_t>(rows_.size()), width});
  for (size_t r = 0; r < rows_.size(); ++r) {
    check(rows_[r] >= 0 && rows_[r] < in[0].dim(0), "gather_rows: a row lies inside the matrix");
    std::memcpy(y.f32() + static_cast<int64_t>(r) * width, in[0].f32() + rows_[r] * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  return {y};
}

void GatherRows::backward(const Context& context, std::span<const Tensor>, std::span<const Tensor>,
                          std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  const int64_t width = in_shape_[1];
  Tensor dx = context.zeros(in_shape_, Category::activation);
  for (size_t r = 0; r < rows_.size(); ++r)
    std::memcpy(dx.f32() + rows_[r] * width, d_out[0].f32() + static_cast<int64_t>(r) * width,
                static_cast<size_t>(width) * sizeof(float));
  d_in[0].give(context, std::move(dx));
}

}  // namespace ops

void op_gather_rows(OpRegistry& registry) {
  registry.samples.push_back({"gather_rows 2 of 5",
                              {normal_input({5, 6}, 51)},
                              [] {
                                return std::make_unique<ops::GatherRows>(std::vector<int64_t>{1, 4});
                              },
                              [](const OpSample::Values& in) {
                                std::vector<double> y(in[0].begin() + 6, in[0].begin() + 12);
                                y.insert(y.end(), in[0].begin() + 24, in[0].end());
                                return OpSample::Values{y};
                              }});
}

}  // namespace verlc
