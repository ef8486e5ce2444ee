// Whole weights under their Hugging Face names, unit by unit in buckets, as views of the gathered arrays.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fsdp/sharded_units.hpp"

namespace verlc::fsdp {

/// One walk over the weights. The gathered unit lives until the tensors given out are released.
class WeightExport {
 public:
  WeightExport(const Model& model, ShardedUnits& units, uint64_t bucket_bytes);
  ~WeightExport();
  WeightExport(const WeightExport&) = delete;
  WeightExport& operator=(const WeightExport&) = delete;

  /// The next bucket: at least one weight, at most `capacity` and bucket_bytes; empty at the end. Pointers
  /// stay valid until the next call. Collective over the shard group.
  std::vector<const verlc_named_tensor*> next(uint32_t capacity);

 private:
  const Model& model_;
  ShardedUnits& units_;
  uint64_t bucket_bytes_;
  size_t unit_ = 0;
  size_t parameter_ = 0;
  std::deque<verlc_named_tensor> given_;
};

}  // namespace verlc::fsdp
