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
  std::vector<bool> taken(static_cast<size_t>(in_shape_[0]), false);
  for (size_t r = 0; r < rows_.size(); ++r) {
    const float* from = d_out[0].f32() + static_cast<int64_t>(r) * width;
    float* to = dx.f32() + rows_[r] * width;
    if (taken[static_cast<size_t>(rows_[r])])
      for (int64_t i = 0; i < width; ++i) to[i] += from[i];
    else
      std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float));
    taken[static_cast<size_t>(rows_[r])] = true;
  }
  d_in[0].give(context, std::move(dx));
}

}  // namespace ops

void op_gather_rows(OpRegistry& registry) {
  const auto add = [&](const std::string& name, const std::vector<int64_t>& rows, uint64_t stream) {
    registry.samples.push_back({name,
                                {normal_input({5, 6}, stream)},
                                [rows] { return std::make_unique<ops::GatherRows>(rows); },
                                [rows](const OpSample::Values& in) {
                                  std::vector<double> y;
                                  for (const int64_t row : rows)
                                    y.insert(y.end(), in[0].begin() + row * 6, in[0].begin() + row * 6 + 6);
                                  return OpSample::Values{y};
                                }});
  };
  add("gather_rows 2 of 5", {1, 4}, 51);
  add("gather_rows with repeats, out of order", {3, 1, 3, 0, 3}, 53);
}

}  // namespace verlc
