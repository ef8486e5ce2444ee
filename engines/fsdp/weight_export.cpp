#include "fsdp/weight_export.hpp"

namespace verlc::fsdp {

WeightExport::WeightExport(const Model& model, ShardedUnits& units, uint64_t bucket_bytes)
    : model_(model), units_(units), bucket_bytes_(bucket_bytes) {}

WeightExport::~WeightExport() {
  if (unit_ < units_.size()) units_.drop(unit_);
}

std::vector<const verlc_named_tensor*> WeightExport::next(uint32_t capacity) {
  given_.clear();
  std::vector<const verlc_named_tensor*> bucket;
  uint64_t bytes = 0;
  while (unit_ < units_.size()) {
    const Tensor whole = units_.whole(unit_);
    const std::deque<Parameter>& parameters = model_.units()[unit_].parameters;
    for (; parameter_ < parameters.size(); ++parameter_) {
      const Parameter& parameter = parameters[parameter_];
      const uint64_t size = static_cast<uint64_t>(num_elements(parameter.shape)) * sizeof(float);
      if (!bucket.empty() && (bucket.size() == capacity || bytes + size > bucket_bytes_)) return bucket;
      bytes += size;
      const Tensor value = whole.part(units_.flat(unit_).offset(parameter_), parameter.shape);
      verlc_named_tensor& named = given_.emplace_back(plugin::make_struct<verlc_named_tensor>());
      named.name = plugin::to_abi(parameter.name);
      named.tensor = plugin::make_managed_tensor(value.raw(), plugin::kF32, parameter.shape,
                                                 std::make_shared<const Tensor>(value));
      bucket.push_back(&named);
    }
    units_.drop(unit_);
    ++unit_;
    parameter_ = 0;
  }
  return bucket;
}

}  // namespace verlc::fsdp
