// The merge rules of a BPE model: (left id, right id) -> rank and merged id, in one flat table.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace verlc::text {

struct Merge {
  int32_t rank = -1;
  int32_t id = -1;
};

/// Sized once, filled, then read from many threads.
class PairTable {
 public:
  explicit PairTable(size_t num_pairs) : slots_(std::bit_ceil(num_pairs * 2 + 2)) {}

  /// Sets the rule of a pair; a later rule of the same pair wins.
  void set(int32_t left, int32_t right, Merge merge) {
    Slot& slot = slots_[locate(key_of(left, right))];
    slot.key = key_of(left, right);
    slot.merge = merge;
  }
  /// The rule, or rank -1.
  [[nodiscard]] Merge find(int32_t left, int32_t right) const {
    return slots_[locate(key_of(left, right))].merge;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }
  [[nodiscard]] size_t locate(uint64_t key) const {
    uint64_t hash = key * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace verlc::text
