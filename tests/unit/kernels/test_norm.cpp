#include "core/kernels/cpu/norm.hpp"

#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

constexpr float kEps = 1e-5F;

/// sum(y dy) of the float64 norm.
double loss(const Doubles& x, const Doubles& weight, const Floats& dy, int64_t rows, int64_t dim) {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < dim; ++i) squares += x[r * dim + i] * x[r * dim + i];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(dim) + kEps);
    for (int64_t i = 0; i < dim; ++i) sum += x[r * dim + i] * inverse * weight[i] * dy[r * dim + i];
  }
  return sum;
}

}  // namespace

TEST_CASE("rms_norm forward agrees with float64 and depends on its row alone") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const int64_t dim : {1, 7, 16, 33, 576, 1001}) {
      const int64_t rows = 70;
      Values values(dim);
      const Floats x = values.floats(rows * dim, 3.0F);
      const Floats weight = values.floats(dim);
      Floats y = filled(rows * dim);
      Floats inverse = filled(rows);
      rms_norm_forward(three, x.data(), weight.data(), kEps, rows, dim, y.data(), inverse.data());
      Doubles expected(y.size());
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (int64_t i = 0; i < dim; ++i) squares += static_cast<double>(x[r * dim + i]) * x[r * dim + i];
        const double inv = 1 / std::sqrt(squares / static_cast<double>(dim) + kEps);
        REQUIRE(inverse[r] == Approx(inv).epsilon(1e-6));
        for (int64_t i = 0; i < dim; ++i) expected[r * dim + i] = x[r * dim + i] * inv * weight[i];
      }
      REQUIRE(worst_error(y, expected, 1e-3) < 2e-6);
      Floats alone = filled(dim);
      for (const int64_t r : {int64_t{0}, int64_t{13}, rows - 1}) {
        rms_norm_forward(one, x.data() + r * dim, weight.data(), kEps, 1, dim, alone.data(), nullptr);
        REQUIRE(same_bits(alone.data(), y.data() + r * dim, dim));
      }
    }
  });
}

TEST_CASE("rms_norm backward agrees with finite differences, same bits for every thread count") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const int64_t dim : {3, 37, 200}) {
      const int64_t rows = 5;
      Values values(dim + 1);
      const Floats x = values.floats(rows * dim);
      const Floats weight = values.floats(dim);
      const Floats dy = values.floats(rows * dim);
      const Floats start = values.floats(dim);
      Floats y = filled(rows * dim);
      Floats inverse = filled(rows);
      rms_norm_forward(one, x.data(), weight.data(), kEps, rows, dim, y.data(), inverse.data());
      Floats dx = filled(rows * dim);
      Floats d_weight = start;
      rms_norm_backward(one, x.data(), weight.data(), inverse.data(), dy.data(), rows, dim, dx.data(),
                        d_weight.data());
      Floats dx3 = filled(rows * dim);
      Floats d_weight3 = start;
      rms_norm_backward(three, x.data(), weight.data(), inverse.data(), dy.data(), rows, dim, dx3.data(),
                        d_weight3.data());
      REQUIRE(same_bits(dx, dx3));
      REQUIRE(same_bits(d_weight, d_weight3));
      Doubles xd(x.begin(), x.end());
      Doubles wd(weight.begin(), weight.end());
      const auto slope = [&](double& at) {
        const double center = at;
        at = center + 1e-6;
        const double above = loss(xd, wd, dy, rows, dim);
        at = center - 1e-6;
        const double below = loss(xd, wd, dy, rows, dim);
        at = center;
        return (above - below) / 2e-6;
      };
      for (size_t i = 0; i < x.size(); i += 3)
        REQUIRE(dx[i] == Approx(slope(xd[i])).epsilon(1e-4).margin(1e-5));
      for (size_t i = 0; i < weight.size(); ++i) {
        REQUIRE(d_weight[i] - start[i] == Approx(slope(wd[i])).epsilon(1e-4).margin(1e-5));
      }
      rms_norm_backward(one, x.data(), weight.data(), inverse.data(), dy.data(), rows, dim, dx3.data(),
                        nullptr);
      REQUIRE(same_bits(dx, dx3));
    }
  });
}

}  // namespace verlc::kernels::test
