#include "core/ops/rotary.hpp"

#include <array>
#include <cmath>

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {
namespace ops {

Tensor Rotary::rotated(const Context& context, const Tensor& x, bool inverse) const {
  Tensor y = context.empty(x.shape());
  if (x.size() == 0) return y;
  kernels::rotary(context.threads, x.f32(), y.f32(), view_.cos, view_.sin, view_.rows, view_.num_tokens,
                  num_heads_, head_dim_, inverse);
  return y;
}

std::vector<Tensor> Rotary::forward(const Context& context, std::span<const Tensor> in) {
  check(in[0].size() == view_.num_tokens * num_heads_ * head_dim_, "rotary: one angle row per token");
  return {rotated(context, in[0], false)};
}

void Rotary::backward(const Context& context, std::span<const Tensor>, std::span<const Tensor>,
                      std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  d_in[0].give(context, rotated(context, d_out[0], true));
}

}  // namespace ops

namespace {

constexpr int64_t kHeads = 2, kDim = 6, kHalf = kDim / 2;
const int32_t kRows[] = {0, 2, 1};

struct SampleAngles {
  std::array<float, 3 * kHalf> cos{}, sin{};
  SampleAngles() {
    for (size_t i = 0; i < cos.size(); ++i) {
      cos[i] = static_cast<float>(std::cos(0.3 + static_cast<double>(i)));
      sin[i] = static_cast<float>(std::sin(0.3 + static_cast<double>(i)));
    }
  }
};

const SampleAngles& angles() {
  static const SampleAngles table;
  return table;
}

OpSample::Values rotary_reference(const OpSample::Values& in) {
  std::vector<double> y(in[0].size());
  for (size_t t = 0; t < 3; ++t)
    for (size_t h = 0; h < kHeads; ++h)
      for (size_t i = 0; i < kHalf; ++i) {
        const size_t first = (t * kHeads + h) * kDim + i, second = first + kHalf;
        const size_t angle = static_cast<size_t>(kRows[t]) * kHalf + i;
        const double c = angles().cos[angle], s = angles().sin[angle];
        y[first] = in[0][first] * c - in[0][second] * s;
        y[second] = in[0][second] * c + in[0][first] * s;
      }
  return {y};
}

}  // namespace

void op_rotary(OpRegistry& registry) {
  const auto make = [] {
    return std::make_unique<ops::Rotary>(RotaryView{angles().cos.data(), angles().sin.data(), kRows, 3},
                                         kHeads, kDim);
  };
  registry.samples.push_back(
      {"rotary 3 tokens, 2 heads", {normal_input({3, kHeads * kDim}, 61)}, make, rotary_reference});
}

}  // namespace verlc
