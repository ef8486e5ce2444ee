#include "bench/memory_bar.hpp"

#include <sys/resource.h>

namespace verlc::bench {

MemoryBar::MemoryBar(const ModelWork& model, const StepShape& step, double micro_tokens, bool reference)
    : parts_{{"weights", 4 * model.parameters * (reference ? 2 : 1)},
             {"gradients", 4 * model.parameters},
             {"moments", 8 * model.parameters},
             {"packed panels of W and W^T", 8 * model.matrix_elements},
             {"KV of the whole batch", 4 * model.kv_floats * step.tokens()},
             {"activations of a micro-batch", 4 * model.saved_floats * micro_tokens}} {}

double MemoryBar::total() const {
  double sum = 0;
  for (const auto& [name, bytes] : parts_) sum += bytes;
  return sum;
}

double peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

}  // namespace verlc::bench
