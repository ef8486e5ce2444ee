#include "fsdp/flat_unit.hpp"

#include <algorithm>

namespace verlc::fsdp {
namespace {

// Every weight starts on a cache line of the gathered array, which the kernels like and the sharding does not
// mind.
constexpr int64_t kAlign = 16;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

FlatUnit::FlatUnit(const Unit& unit, int64_t num_shards, int64_t shard)
    : num_shards_(num_shards), shard_(shard) {
  for (const Parameter& parameter : unit.parameters) {
    offsets_.push_back(size_);
    size_ += round_up(num_elements(parameter.shape), kAlign);
  }
  shard_size_ = round_up((size_ + num_shards - 1) / num_shards, kAlign);
}

int64_t FlatUnit::end() const {
  return std::min(size_, begin() + shard_size_);
}

}  // namespace verlc::fsdp
