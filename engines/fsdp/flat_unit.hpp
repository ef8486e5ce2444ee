// A unit's weights end to end in one flat float32 array, cut into equal shards.
#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/parameter.hpp"

namespace verlc::fsdp {

/// Where each weight of a unit lies in the flat array, and which part a rank owns. The order does not depend
/// on the number of ranks, only the padding at the end does.
class FlatUnit {
 public:
  FlatUnit(const Unit& unit, int64_t num_shards, int64_t shard);

  /// Elements of all weights, without padding.
  [[nodiscard]] int64_t size() const { return size_; }
  /// Elements of one shard; num_shards times it is the padded size.
  [[nodiscard]] int64_t shard_size() const { return shard_size_; }
  [[nodiscard]] int64_t padded_size() const { return shard_size_ * num_shards_; }
  /// First flat element of this rank's shard, and the end of its part before the padding.
  [[nodiscard]] int64_t begin() const { return shard_size_ * shard_; }
  [[nodiscard]] int64_t end() const;
  /// First flat element of weight i of the unit.
  [[nodiscard]] int64_t offset(size_t i) const { return offsets_[i]; }

 private:
  int64_t num_shards_;
  int64_t shard_;
  int64_t size_ = 0;
  int64_t shard_size_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace verlc::fsdp
