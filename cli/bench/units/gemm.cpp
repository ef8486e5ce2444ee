// The three products of training at the shapes of small models, and the forward product at the sizes of
// decode with weights that are in no cache.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "bench/bench.hpp"
#include "bench/floats.hpp"
#include "core/base/thread_pool.hpp"
#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/target.hpp"

namespace verlc::bench {
namespace {

using namespace kernels;

constexpr size_t kColdBytes = size_t{512} << 20;  // beyond the last cache of any machine this is for

struct Shape {
  int64_t k, n;
};
constexpr Shape kShapes[] = {{576, 1536}, {576, 576},   {1536, 576}, {896, 4864},
                             {4864, 896}, {896, 32000}, {2048, 8192}};
constexpr Shape kTinyShapes[] = {{96, 160}, {160, 96}};

// Rates of one product over the shapes.
struct Means {
  std::vector<double> best, median;
  void add(const Timing& timing) {
    best.push_back(100 * timing.best_share);
    median.push_back(100 * timing.median_share);
  }
  static double of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
};

class GemmBench {
 public:
  GemmBench(const BenchOptions& options, Report& report)
      : options_(options), report_(report), pool_(num_threads(options)), timer_(make_timer(pool_, options)) {}

  void run() {
    const std::span<const Shape> shapes =
        options_.tiny ? std::span<const Shape>(kTinyShapes) : std::span<const Shape>(kShapes);
    const std::vector<int64_t> rows =
        options_.tiny ? std::vector<int64_t>{96} : std::vector<int64_t>{256, 1024};
    for (const int64_t m : rows) {
      Means forward, dx, dw;
      for (const Shape& shape : shapes) products(shape, m, forward, dx, dw);
      mean(fmt::format("mean forward M={}", m), forward);
      mean(fmt::format("mean dx M={}", m), dx);
      mean(fmt::format("mean dW M={}", m), dw);
    }
    for (const int64_t m : {1, 8, 64}) {
      Means cold;
      for (const Shape& shape : shapes) decode(shape, m, cold);
      mean(fmt::format("mean cold forward M={}", m), cold);
    }
  }

 private:
  static std::string text(const char* what, const Shape& shape, int64_t m) {
    return fmt::format("{} M={} ({},{})", what, m, shape.k, shape.n);
  }

  void mean(const std::string& name, const Means& means) {
    report_.value(name + " best", Means::of(means.best), "%");
    report_.value(name + " median", Means::of(means.median), "%");
  }

  void row(const std::string& name, const Work& work, Means& means, const std::function<void()>& body) {
    const Timing timing = timer_.time(work, body);
    report_.row({name, "GF", work.flops * 1e-9, timing});
    means.add(timing);
  }

  [[nodiscard]] Work work(const Shape& shape, int64_t m, double bytes) const {
    return {2.0 * static_cast<double>(m * shape.n * shape.k), bytes, options_.arithmetic()};
  }

  void products(const Shape& shape, int64_t m, Means& forward, Means& dx, Means& dw) {
    const int64_t k = shape.k, n = shape.n;
    const Precision precision = options_.precision();
    Floats x(m * k), y(m * n), w(n * k);
    Floats panels(std::max(packed_words(precision, n, k), packed_words(precision, k, n)), false);
    Floats rounded(gemm_packed_scratch_floats(precision, m, std::max(k, n)), false);
    pack_weight(pool_, precision, w.get(), n, k, panels.get());
    row(text("forward", shape, m), work(shape, m, 0), forward, [&] {
      gemm_packed(pool_, x.get(), {panels.get(), precision, k}, nullptr, y.get(), m, n, k, false,
                  rounded.get());
    });
    pack_weight_transposed(pool_, precision, w.get(), n, k, panels.get());
    row(text("dx", shape, m), work(shape, m, 0), dx, [&] {
      gemm_packed(pool_, y.get(), {panels.get(), precision, n}, nullptr, x.get(), m, k, n, false,
                  rounded.get());
    });
    Floats scratch(gemm_tn_scratch_floats(pool_.threads()), false);
    row(text("dW", shape, m), work(shape, m, 0), dw,
        [&] { gemm_tn(pool_, precision, y.get(), x.get(), w.get(), m, n, k, false, scratch.get()); });
  }

  // Weights change from call to call, so that each comes from memory, as a whole model's do.
  void decode(const Shape& shape, int64_t m, Means& means) {
    const int64_t k = shape.k, n = shape.n;
    const Precision precision = options_.precision();
    const auto words = static_cast<size_t>(packed_words(precision, n, k));
    const size_t copies = options_.tiny ? 2 : std::max<size_t>(2, kColdBytes / (words * sizeof(float)));
    Floats x(m * k), y(m * n, false), w(n * k), packed(copies * words, false);
    Floats rounded(gemm_packed_scratch_floats(precision, m, k), false);
    pack_weight(pool_, precision, w.get(), n, k, packed.get());
    for (size_t c = 1; c < copies; ++c)
      std::memcpy(packed.get() + c * words, packed.get(), words * sizeof(float));
    size_t next = 0;
    row(text("cold forward", shape, m), work(shape, m, 4.0 * static_cast<double>(words)), means, [&] {
      const float* const panels = packed.get() + next * words;
      next = (next + 1) % copies;
      gemm_packed(pool_, x.get(), {panels, precision, k}, nullptr, y.get(), m, n, k, false, rounded.get());
    });
  }

  const BenchOptions& options_;
  Report& report_;
  ThreadPool pool_;
  Timer timer_;
};

int run(const BenchOptions& options, Report& report) {
  GemmBench(options, report).run();
  return 0;
}

}  // namespace

void bench_gemm(BenchRegistry& registry) {
  registry.add(
      {"gemm", "matrix products: forward, dx and dW, and forward with cold weights", takes_dtype, run});
}

}  // namespace verlc::bench
