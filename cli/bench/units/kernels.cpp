// The kernels of training beside matrix products and attention: head with log-prob, AdamW, SwiGLU.
#include <fmt/core.h>

#include <cmath>

#include "bench/bench.hpp"
#include "bench/floats.hpp"
#include "core/base/thread_pool.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/vocab.hpp"

namespace verlc::bench {
namespace {

using namespace kernels;

void head(Timer& timer, Report& report, int64_t rows, int64_t hidden, int64_t vocab) {
  const auto count = static_cast<size_t>(rows);
  Executor& threads = timer.threads();
  Floats h(rows * hidden), w(vocab * hidden), dh(rows * hidden), dw(vocab * hidden);
  Floats panels(packed_words(Precision::f32, vocab, hidden), false);
  Floats turned(packed_words(Precision::f32, hidden, vocab), false);
  Floats scratch(vocab_scratch_floats(threads.threads(), rows, hidden), false);
  pack_weight(threads, Precision::f32, w.get(), vocab, hidden, panels.get());
  pack_weight_transposed(threads, Precision::f32, w.get(), vocab, hidden, turned.get());
  const HeadWeight weight{
      w.get(), {panels.get(), Precision::f32, hidden}, {turned.get(), Precision::f32, vocab}};
  const std::vector<int32_t> targets(count, 17);
  const std::vector<float> ones(count, 1.0F);
  std::vector<float> logp(count), entropy(count), lse(count);
  const Work forward{2.0 * static_cast<double>(rows * hidden * vocab), 0, Arithmetic::f32};
  const Work backward{3 * forward.flops, 0, Arithmetic::f32};
  const std::string size = fmt::format("{} x {} x {}", rows, hidden, vocab);
  report.row({"log-prob forward " + size, "GF", forward.flops * 1e-9, timer.time(forward, [&] {
                vocab_logprob_forward(threads, h.get(), weight, targets.data(), ones.data(), rows, hidden,
                                      vocab, logp.data(), entropy.data(), lse.data(), scratch.get());
              })});
  report.row({"log-prob backward " + size, "GF", backward.flops * 1e-9, timer.time(backward, [&] {
                vocab_logprob_backward(threads, h.get(), weight, targets.data(), ones.data(), entropy.data(),
                                       lse.data(), ones.data(), nullptr, rows, hidden, vocab, dh.get(),
                                       dw.get(), scratch.get());
              })});
}

void streams(Timer& timer, Report& report, size_t n) {
  Floats w(n), gradient(n), m(n), v(n);
  for (size_t i = 0; i < n; ++i) v.get()[i] = std::abs(v.get()[i]);
  Executor& threads = timer.threads();
  const auto row = [&](const char* name, double floats, const std::function<void()>& body) {
    const Work work{0, 4 * floats * static_cast<double>(n), Arithmetic::f32};
    report.row({fmt::format("{} {} floats", name, n), "GB", work.bytes * 1e-9, timer.time(work, body)});
  };
  row("AdamW", 7,
      [&] { adamw(threads, {.lr = 1e-4, .step = 10}, w.get(), gradient.get(), m.get(), v.get(), n); });
  volatile double sink = 0;
  row("sum of squares", 1, [&] { sink = sum_of_squares(threads, gradient.get(), n); });
  row("SwiGLU", 3, [&] { swiglu_forward(threads, w.get(), gradient.get(), m.get(), n); });
}

int run(const BenchOptions& options, Report& report) {
  ThreadPool pool(num_threads(options));
  Timer timer = make_timer(pool, options);
  if (options.tiny)
    head(timer, report, 16, 32, 128);
  else
    head(timer, report, 512, 576, 49152);
  streams(timer, report, size_t{options.tiny ? 1U : 16U} << 20);
  return 0;
}

}  // namespace

void bench_kernels(BenchRegistry& registry) {
  registry.add({"kernels", "head with log-prob, AdamW and other kernels of a training step", 0, run});
}

}  // namespace verlc::bench
