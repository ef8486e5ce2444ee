#include "pipeline/narrow_bucket.hpp"

#include <memory>
#include <string>

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc::pipeline {
namespace {

bool is_float_matrix(const verlc_tensor& tensor) {
  return tensor.ndim == 2 && plugin::element_type(tensor) == plugin::kF32 && plugin::is_dense(tensor);
}

}  // namespace

NarrowBucket::NarrowBucket(Executor& threads, std::span<const verlc_named_tensor* const> bucket) {
  for (const verlc_named_tensor* named : bucket) {
    const verlc_tensor& tensor = named->tensor->tensor;
    if (!is_float_matrix(tensor)) {
      weights_.push_back(named);
      continue;
    }
    const auto count = static_cast<size_t>(plugin::num_elements(tensor));
    const std::shared_ptr<uint16_t[]> narrow(new uint16_t[count]);
    kernels::narrow_bf16(threads, reinterpret_cast<const float*>(plugin::raw_data(tensor)), narrow.get(),
                         count);
    const std::span<const int64_t> shape = plugin::shape_of(tensor);
    copies_.emplace_back(
        std::string(plugin::to_view(named->name)),
        plugin::ManagedTensor(plugin::make_managed_tensor(
            narrow.get(), plugin::kBf16, std::vector<int64_t>(shape.begin(), shape.end()), narrow)));
    weights_.push_back(copies_.back().get());
  }
}

}  // namespace verlc::pipeline
