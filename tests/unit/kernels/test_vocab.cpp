#include "core/kernels/cpu/vocab.hpp"

#include "core/kernels/cpu/gemm.hpp"
#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

struct Problem {
  int64_t rows, hidden, vocab;
  Floats h, weight, inv_temperature;
  std::vector<int32_t> targets;
};

Problem make_problem(int64_t rows, int64_t hidden, int64_t vocab, uint64_t seed) {
  Values values(seed);
  Problem p{rows,         hidden, vocab, values.floats(rows * hidden, 2.0F), values.floats(vocab * hidden),
            filled(rows), {}};
  for (int64_t r = 0; r < rows; ++r) {
    p.inv_temperature[r] = r % 3 == 0 ? 1.0F : 0.5F + 0.25F * static_cast<float>(r % 5);
    p.targets.push_back(static_cast<int32_t>(r == 0 ? vocab - 1 : values.integer(0, vocab - 1)));
  }
  return p;
}

struct Result {
  Floats logp, entropy, lse;
};

Result forward(Executor& threads, const Problem& p, bool packed, bool want_entropy = true) {
  Result result{filled(p.rows), filled(p.rows), filled(p.rows)};
  Floats panels = filled(packed_words(Precision::f32, p.vocab, p.hidden));
  pack_weight(threads, Precision::f32, p.weight.data(), p.vocab, p.hidden, panels.data());
  Floats scratch = filled(static_cast<int64_t>(vocab_scratch_floats(threads.threads(), p.rows, p.hidden)));
  vocab_logprob_forward(threads, p.h.data(),
                        {p.weight.data(), {packed ? panels.data() : nullptr, Precision::f32, p.hidden}, {}},
                        p.targets.data(), p.inv_temperature.data(), p.rows, p.hidden, p.vocab,
                        result.logp.data(), want_entropy ? result.entropy.data() : nullptr, result.lse.data(),
                        scratch.data());
  return result;
}

/// Float64 log-prob, entropy and lse of one row.
struct Row {
  double logp, entropy, lse;
};

Row reference(const Problem& p, const Doubles& h, const Doubles& weight, int64_t r) {
  Doubles x(p.vocab);
  double top = -1e300;
  for (int64_t j = 0; j < p.vocab; ++j) {
    for (int64_t i = 0; i < p.hidden; ++i) x[j] += h[r * p.hidden + i] * weight[j * p.hidden + i];
    x[j] *= p.inv_temperature[r];
    top = std::max(top, x[j]);
  }
  double sum = 0;
  for (const double value : x) sum += std::exp(value - top);
  const double lse = top + std::log(sum);
  double entropy = 0;
  for (const double value : x) entropy -= std::exp(value - lse) * (value - lse);
  return {x[p.targets[r]] - lse, entropy, lse};
}

Doubles widened(const Floats& x) {
  return {x.begin(), x.end()};
}

struct Gradients {
  Floats dh, d_head;
};

Gradients backward(Executor& threads, const Problem& p, const Result& f, const Floats& d_logp,
                   const Floats* d_entropy, const Floats& head_start) {
  Gradients g{filled(p.rows * p.hidden), head_start};
  Floats scratch = filled(static_cast<int64_t>(vocab_scratch_floats(threads.threads(), p.rows, p.hidden)));
  vocab_logprob_backward(threads, p.h.data(), {p.weight.data(), nullptr}, p.targets.data(),
                         p.inv_temperature.data(), d_entropy == nullptr ? nullptr : f.entropy.data(),
                         f.lse.data(), d_logp.data(), d_entropy == nullptr ? nullptr : d_entropy->data(),
                         p.rows, p.hidden, p.vocab, g.dh.data(), g.d_head.empty() ? nullptr : g.d_head.data(),
                         scratch.data());
  return g;
}

}  // namespace

TEST_CASE("vocab forward agrees with float64") {
  ThreadPool pool(2);
  on_every_target([&](const std::string&) {
    for (const auto& [rows, hidden, vocab] : {std::tuple<int64_t, int64_t, int64_t>{1, 24, 5},
                                              {7, 33, 961},
                                              {150, 20, 1000},
                                              {3, 64, 4000},
                                              {12, 48, 960}}) {
      const Problem p = make_problem(rows, hidden, vocab, 40 + rows);
      const Result result = forward(pool, p, rows % 2 == 0);
      const Doubles h = widened(p.h);
      const Doubles weight = widened(p.weight);
      for (int64_t r = 0; r < rows; ++r) {
        const Row expected = reference(p, h, weight, r);
        INFO("rows " << rows << " hidden " << hidden << " vocab " << vocab << " row " << r);
        REQUIRE(std::abs(result.logp[r] - expected.logp) < 1e-5);
        REQUIRE(std::abs(result.entropy[r] - expected.entropy) < 2e-5);
        REQUIRE(std::abs(result.lse[r] - expected.lse) < 1e-5);
      }
    }
  });
}

TEST_CASE("vocab: the sampler's lse and log-prob are the trainer's, bit for bit") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    const Problem p = make_problem(141, 40, 2011, 8);
    const Result whole = forward(three, p, true);
    REQUIRE(same_bits(forward(one, p, false).lse, whole.lse));
    REQUIRE(same_bits(forward(one, p, false).entropy, whole.entropy));
    REQUIRE(same_bits(forward(one, p, true, false).logp, whole.logp));
    Floats panels = filled(packed_words(Precision::f32, p.vocab, p.hidden));
    pack_weight(one, Precision::f32, p.weight.data(), p.vocab, p.hidden, panels.data());
    Floats logits = filled(p.vocab);
    for (int64_t r = 0; r < p.rows; ++r) {
      gemm_packed(one, p.h.data() + r * p.hidden, {panels.data(), Precision::f32, p.hidden}, nullptr,
                  logits.data(), 1, p.vocab, p.hidden, false, nullptr);
      const float lse = row_log_sum_exp(logits.data(), p.vocab, p.inv_temperature[r]);
      const float logp = row_logprob(logits[p.targets[r]], p.inv_temperature[r], lse);
      REQUIRE(same_bits(&lse, &whole.lse[r], 1));
      REQUIRE(same_bits(&logp, &whole.logp[r], 1));
    }
  });
}

TEST_CASE("vocab: masked logits add nothing, NaN shows, huge logits do not overflow") {
  on_every_target([&](const std::string&) {
    const float inf = std::numeric_limits<float>::infinity();
    Floats logits = filled(3000, -inf);
    logits[1] = 2.0F;
    logits[2500] = 2.0F;
    REQUIRE(row_log_sum_exp(logits.data(), 3000, 1.0F) == Approx(2.0 + std::log(2.0)));
    REQUIRE(row_log_sum_exp(logits.data(), 1, 1.0F) == -inf);
    logits[2990] = kNan;
    REQUIRE(std::isnan(row_log_sum_exp(logits.data(), 3000, 1.0F)));
    const Floats nothing = filled(2000);
    REQUIRE(std::isnan(row_log_sum_exp(nothing.data(), 2000, 1.0F)));
    Floats huge = filled(2000, 1e30F);
    REQUIRE(row_log_sum_exp(huge.data(), 2000, 1.0F) == Approx(1e30));
    Floats wide = filled(1000, -3000.0F);
    wide[0] = 3000.0F;
    REQUIRE(row_log_sum_exp(wide.data(), 1000, 1.0F) == 3000.0F);
  });
}

TEST_CASE("vocab backward agrees with finite differences of the float64 reference") {
  InlineExecutor one;
  const Problem p = make_problem(6, 10, 1003, 77);
  const Floats d_logp = Values(1).floats(p.rows);
  const Floats d_entropy = Values(2).floats(p.rows);
  for (const bool with_entropy : {true, false}) {
    const auto loss = [&](const Doubles& h, const Doubles& weight) {
      double sum = 0;
      for (int64_t r = 0; r < p.rows; ++r) {
        const Row row = reference(p, h, weight, r);
        sum += d_logp[r] * row.logp + (with_entropy ? d_entropy[r] * row.entropy : 0.0);
      }
      return sum;
    };
    on_every_target([&](const std::string&) {
      const Floats start = Values(3).floats(p.vocab * p.hidden);
      const Gradients g =
          backward(one, p, forward(one, p, true), d_logp, with_entropy ? &d_entropy : nullptr, start);
      Doubles h = widened(p.h);
      Doubles weight = widened(p.weight);
      Values pick(9);
      for (int i = 0; i < 24; ++i) {
        const bool of_h = i % 2 == 0;
        Doubles& x = of_h ? h : weight;
        auto at = static_cast<size_t>(pick.integer(0, static_cast<int64_t>(x.size()) - 1));
        if (!of_h && i % 4 == 1) at = static_cast<size_t>(p.targets[i % p.rows] * p.hidden + i % p.hidden);
        const double center = x[at];
        x[at] = center + 1e-5;
        const double above = loss(h, weight);
        x[at] = center - 1e-5;
        const double expected = (above - loss(h, weight)) / 2e-5;
        x[at] = center;
        const double mine = of_h ? g.dh[at] : static_cast<double>(g.d_head[at]) - start[at];
        INFO((of_h ? "dh" : "d_head") << " at " << at << " entropy " << with_entropy);
        REQUIRE(mine == Approx(expected).epsilon(2e-4).margin(3e-6));
      }
    });
  }
}

TEST_CASE("vocab backward: same bits for every thread count, a frozen head is allowed") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    const Problem p = make_problem(37, 30, 1930, 12);
    const Floats d_logp = Values(1).floats(p.rows);
    const Floats d_entropy = Values(2).floats(p.rows);
    const Floats start = Values(3).floats(p.vocab * p.hidden);
    const Result f = forward(one, p, true);
    const Gradients a = backward(one, p, f, d_logp, &d_entropy, start);
    const Gradients b = backward(three, p, f, d_logp, &d_entropy, start);
    REQUIRE(same_bits(a.dh, b.dh));
    REQUIRE(same_bits(a.d_head, b.d_head));
    REQUIRE(same_bits(backward(three, p, f, d_logp, &d_entropy, {}).dh, a.dh));
  });
}

}  // namespace verlc::kernels::test
