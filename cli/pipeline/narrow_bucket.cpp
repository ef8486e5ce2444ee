#include "pipeline/narrow_bucket.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "core/hf/file_type.hpp"

namespace verlc::pipeline {
namespace {

bool is_float_matrix(const verlc_tensor& tensor) {
  return tensor.ndim == 2 && plugin::element_type(tensor) == plugin::kF32 && plugin::is_dense(tensor);
}

void round_all(Executor& threads, const float* from, uint16_t* to, size_t count) {
  constexpr size_t kPart = size_t{1} << 18;
  threads.for_each(static_cast<int>((count + kPart - 1) / kPart), [&](int part) {
    const size_t begin = static_cast<size_t>(part) * kPart;
    hf::convert_to_bf16(from + begin, std::min(kPart, count - begin), to + begin);
  });
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
    round_all(threads, reinterpret_cast<const float*>(plugin::raw_data(tensor)), narrow.get(), count);
    const std::span<const int64_t> shape = plugin::shape_of(tensor);
    copies_.emplace_back(
        std::string(plugin::to_view(named->name)),
        plugin::ManagedTensor(plugin::make_managed_tensor(
            narrow.get(), plugin::kBf16, std::vector<int64_t>(shape.begin(), shape.end()), narrow)));
    weights_.push_back(copies_.back().get());
  }
}

}  // namespace verlc::pipeline
