#include "core/kernels/cpu/elementwise.hpp"

#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

constexpr int64_t kSizes[] = {0, 1, 5, 16, 31, 1000, 70001};

}  // namespace

TEST_CASE("add and scale are exact and may work in place") {
  ThreadPool pool(3);
  on_every_target([&](const std::string&) {
    for (const int64_t n : kSizes) {
      Values values(n + 1);
      const Floats a = values.floats(n);
      Floats b = values.floats(n);
      Floats y = filled(n);
      Floats expected(n);
      for (int64_t i = 0; i < n; ++i) expected[i] = a[i] + b[i];
      add(pool, a.data(), b.data(), y.data(), n);
      REQUIRE(same_bits(y, expected));
      add(pool, a.data(), b.data(), b.data(), n);
      REQUIRE(same_bits(b, expected));
      for (int64_t i = 0; i < n; ++i) expected[i] = b[i] * 0.3F;
      scale(pool, b.data(), 0.3F, b.data(), n);
      REQUIRE(same_bits(b, expected));
    }
  });
}

TEST_CASE("swiglu agrees with float64, forward and backward, whatever the split") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const int64_t n : kSizes) {
      Values values(n + 2);
      const Floats gate = values.floats(n, 12.0F);
      const Floats up = values.floats(n);
      const Floats dy = values.floats(n);
      Floats y = filled(n);
      Floats d_gate = filled(n);
      Floats d_up = filled(n);
      swiglu_forward(three, gate.data(), up.data(), y.data(), n);
      swiglu_backward(three, gate.data(), up.data(), dy.data(), d_gate.data(), d_up.data(), n);
      Doubles ye(n);
      Doubles ge(n);
      Doubles ue(n);
      for (int64_t i = 0; i < n; ++i) {
        const double g = gate[i];
        const double s = sigmoid(g);
        ye[i] = g * s * up[i];
        ue[i] = dy[i] * g * s;
        ge[i] = dy[i] * up[i] * s * (1 + g * (1 - s));
      }
      REQUIRE(worst_error(y, ye, 1e-3) < 1e-6);
      REQUIRE(worst_error(d_gate, ge, 1e-2) < 1e-5);
      REQUIRE(worst_error(d_up, ue, 1e-3) < 1e-6);
      for (int64_t i = 0; i < n; i += 1 + n / 40) {  // one element alone
        float alone = kNan;
        swiglu_forward(one, &gate[i], &up[i], &alone, 1);
        REQUIRE(same_bits(&alone, &y[i], 1));
      }
    }
    const Floats gate = {-200.0F, 200.0F, 0.0F, -0.0F, kNan, -88.5F};
    const Floats up = filled(6, 2.0F);
    Floats y = filled(6);
    swiglu_forward(one, gate.data(), up.data(), y.data(), 6);
    REQUIRE(std::abs(y[0]) < 1e-30F);
    REQUIRE(y[1] == 400.0F);
    REQUIRE(y[2] == 0.0F);
    REQUIRE(y[3] == 0.0F);
    REQUIRE(std::isnan(y[4]));
    REQUIRE(std::abs(y[5]) < 1e-30F);
  });
}

TEST_CASE("rotary turns pairs and its inverse turns them back") {
  ThreadPool pool(3);
  on_every_target([&](const std::string&) {
    const int64_t tokens = 50;
    const int64_t heads = 3;
    const int64_t dim = 22;
    const int64_t half = dim / 2;
    Values values(8);
    Floats cos(100 * half);
    Floats sin(100 * half);
    for (int64_t p = 0; p < 100; ++p) {
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / dim);
        cos[p * half + i] = static_cast<float>(std::cos(angle));
        sin[p * half + i] = static_cast<float>(std::sin(angle));
      }
    }
    std::vector<int32_t> positions;
    for (int64_t t = 0; t < tokens; ++t) positions.push_back(static_cast<int32_t>(values.integer(0, 99)));
    const Floats x = values.floats(tokens * heads * dim);
    Floats y = filled(tokens * heads * dim);
    rotary(pool, x.data(), y.data(), cos.data(), sin.data(), positions.data(), tokens, heads, dim, false);
    Doubles expected(x.size());
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < half; ++i) {
          const size_t at = (t * heads + h) * dim + i;
          const double c = cos[positions[t] * half + i];
          const double s = sin[positions[t] * half + i];
          expected[at] = x[at] * c - x[at + half] * s;
          expected[at + half] = x[at + half] * c + x[at] * s;
        }
      }
    }
    REQUIRE(worst_error(y, expected, 0.1) < 1e-6);
    rotary(pool, y.data(), y.data(), cos.data(), sin.data(), positions.data(), tokens, heads, dim, true);
    REQUIRE(worst_error(y, Doubles(x.begin(), x.end()), 0.1) < 2e-6);
  });
}

TEST_CASE("embedding and column sums add tokens in order for every thread count") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    const int64_t tokens = 300;
    const int64_t hidden = 97;
    const int64_t vocab = 11;
    Values values(4);
    const Floats table = values.floats(vocab * hidden);
    const Floats dy = values.floats(tokens * hidden);
    std::vector<int32_t> ids;
    for (int64_t t = 0; t < tokens; ++t) ids.push_back(static_cast<int32_t>(values.integer(0, vocab - 1)));
    Floats y = filled(tokens * hidden);
    embedding_forward(three, table.data(), ids.data(), tokens, hidden, y.data());
    Floats expected = table;
    Floats sums = Floats(table.begin(), table.begin() + hidden);
    const Floats start = sums;
    for (int64_t t = 0; t < tokens; ++t) {
      REQUIRE(same_bits(y.data() + t * hidden, table.data() + ids[t] * hidden, hidden));
      for (int64_t i = 0; i < hidden; ++i) {
        expected[ids[t] * hidden + i] += dy[t * hidden + i];
        sums[i] += dy[t * hidden + i];
      }
    }
    for (Executor* threads : {static_cast<Executor*>(&one), static_cast<Executor*>(&three)}) {
      Floats grad = table;
      embedding_backward(*threads, ids.data(), dy.data(), tokens, hidden, grad.data());
      REQUIRE(same_bits(grad, expected));
      Floats bias = start;
      add_column_sums(*threads, dy.data(), tokens, hidden, bias.data());
      REQUIRE(same_bits(bias, sums));
    }
  });
}

TEST_CASE("sum_of_squares is float64 and does not depend on threads") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const int64_t n : {0, 1, 9, 4096, 4097, 123457, 5000001}) {
      const Floats x = Values(n + 1).floats(n);
      double expected = 0;
      for (const float f : x) expected += static_cast<double>(f) * f;
      const double sum = sum_of_squares(one, x.data(), n);
      REQUIRE(sum == Approx(expected).epsilon(1e-10));
      REQUIRE(sum == sum_of_squares(three, x.data(), n));
    }
  });
}

}  // namespace verlc::kernels::test
