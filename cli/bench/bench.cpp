#include "bench/bench.hpp"

#include "core/base/check.hpp"
#include "core/base/thread_pool.hpp"

namespace verlc::bench {

kernels::Precision BenchOptions::precision() const {
  const std::optional<kernels::Precision> known = kernels::parse_precision(dtype);
  check(known.has_value(), "the command line takes known types only");
  return *known;
}

Arithmetic BenchOptions::arithmetic() const {
  return precision() == kernels::Precision::bf16 && has_bf16_dot() ? Arithmetic::bf16 : Arithmetic::f32;
}

int num_threads(const BenchOptions& options) {
  return options.threads > 0 ? options.threads : available_threads();
}

pipeline::SessionOptions session_options(const BenchOptions& options) {
  pipeline::SessionOptions result;
  result.join.threads_per_rank = options.threads;
  return result;
}

Timer make_timer(Executor& threads, const BenchOptions& options) {
  return {threads, options.tiny ? 0.0 : options.seconds, size_t{options.tiny ? 32U : 512U} << 20};
}

}  // namespace verlc::bench
