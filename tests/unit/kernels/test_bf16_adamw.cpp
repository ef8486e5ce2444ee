#include <bit>

#include "core/base/error.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

float narrowed(float x) {
  InlineExecutor one;
  uint16_t half = 0xDEAD;
  float back = kNan;
  narrow_bf16(one, &x, &half, 1);
  widen_bf16(one, &half, &back, 1);
  return back;
}

struct State {
  Floats param, m, v;
};

/// The formula in float64, as torch.optim.AdamW writes it.
void reference_step(const AdamWStep& o, Doubles& param, const Floats& grad, Doubles& m, Doubles& v) {
  const double c1 = 1 - std::pow(o.beta1, static_cast<double>(o.step));
  const double c2 = 1 - std::pow(o.beta2, static_cast<double>(o.step));
  for (size_t i = 0; i < param.size(); ++i) {
    const double g = static_cast<double>(grad[i]) * o.grad_scale;
    param[i] *= 1 - o.lr * o.weight_decay;
    m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
    v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
    param[i] -= o.lr / c1 * m[i] / (std::sqrt(v[i]) / std::sqrt(c2) + o.eps);
  }
}

}  // namespace

TEST_CASE("bf16 narrowing rounds to nearest even") {
  on_every_target([&](const std::string&) {
    // Adding less than half a step to 0.02 leaves it; the spacing there is 2^-13 = 1.22e-4.
    const float base = narrowed(0.02F);
    REQUIRE(narrowed(base + 1e-6F) == base);
    REQUIRE(narrowed(base + 7e-5F) == Approx(base + 1.220703125e-4).epsilon(1e-6));
    REQUIRE(narrowed(1.0F + 0.002F) == 1.0F);
    REQUIRE(narrowed(1.0F + 0.004F) == 1.0078125F);
    REQUIRE(narrowed(1.00390625F) == 1.0F);       // a tie goes to the even neighbour below
    REQUIRE(narrowed(1.01171875F) == 1.015625F);  // and above
    REQUIRE(narrowed(std::numeric_limits<float>::max()) == std::numeric_limits<float>::infinity());
    REQUIRE(narrowed(-std::numeric_limits<float>::infinity()) == -std::numeric_limits<float>::infinity());
    REQUIRE(std::signbit(narrowed(-0.0F)));
    REQUIRE(narrowed(0.0F) == 0.0F);
    for (const uint32_t bits : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU, 0xFF80FFFFU, 0x7FFFFFFFU}) {
      REQUIRE(std::isnan(narrowed(std::bit_cast<float>(bits))));
    }
    REQUIRE(narrowed(std::bit_cast<float>(0x00008001U)) == std::bit_cast<float>(0x00010000U));  // subnormal
  });
}

TEST_CASE("bf16 widening and narrowing give back every 16-bit value") {
  ThreadPool pool(3);
  on_every_target([&](const std::string&) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    Floats wide = filled(65536);
    std::vector<uint16_t> back(65536);
    widen_bf16(pool, all.data(), wide.data(), all.size());
    narrow_bf16(pool, wide.data(), back.data(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(wide[i])) {
        REQUIRE(back[i] == (i | 0x40U));
      } else {
        REQUIRE(back[i] == i);
      }
    }
  });
}

TEST_CASE("AdamW gives the value worked out by hand") {
  InlineExecutor one;
  on_every_target([&](const std::string&) {
    // step 1: m = 0.1 g, v = 0.001 g^2, corrected to g and g^2, so the move is lr * sign(g) after the decay.
    float param = 1.0F;
    const float grad = 0.5F;
    float m = 0;
    float v = 0;
    adamw(one, {.lr = 0.1, .weight_decay = 0.01, .step = 1}, &param, &grad, &m, &v, 1);
    REQUIRE(param == Approx(1.0 * (1 - 0.001) - 0.1).epsilon(1e-6));
    REQUIRE(m == Approx(0.05));
    REQUIRE(v == Approx(0.00025));
  });
}

TEST_CASE("AdamW follows float64 over many steps, whatever the split") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const int64_t n : {1, 15, 33, 70001}) {
      Values values(n);
      State a{values.floats(n), filled(n, 0.0F), filled(n, 0.0F)};
      State b = a;
      Doubles param(a.param.begin(), a.param.end());
      Doubles m(n);
      Doubles v(n);
      for (int64_t step = 1; step <= 6; ++step) {
        const Floats grad = values.floats(n, step % 2 == 0 ? 1e-4F : 3.0F);
        const AdamWStep options{1e-2, 0.9, 0.95, 1e-8, 0.1, step, 0.5F};
        adamw(one, options, a.param.data(), grad.data(), a.m.data(), a.v.data(), n);
        adamw(three, options, b.param.data(), grad.data(), b.m.data(), b.v.data(), n);
        reference_step(options, param, grad, m, v);
      }
      REQUIRE(worst_error(a.param, param, 0.1) < 2e-6);
      REQUIRE(worst_error(a.m, m, 1e-2) < 1e-5);
      REQUIRE(same_bits(a.param, b.param));
      REQUIRE(same_bits(a.v, b.v));
    }
  });
}

TEST_CASE("an unknown CPU target is refused with the valid names") {
  const std::string before = cpu_target();
  try {
    set_cpu_target("vax");
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::input);
    REQUIRE(std::string(error.what()).find("portable") != std::string::npos);
    REQUIRE(std::string(error.what()).find("vax") != std::string::npos);
  }
  REQUIRE(cpu_target() == before);
  for (const std::string& name : cpu_targets()) {
    set_cpu_target(name);
    REQUIRE(cpu_target() == name);
  }
  set_cpu_target(before);
}

}  // namespace verlc::kernels::test
