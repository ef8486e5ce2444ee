// Free ranges of addresses that join their neighbours and are taken by best fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace verlc {

struct AddressRange {
  uintptr_t begin = 0;
  size_t size = 0;
  [[nodiscard]] uintptr_t end() const { return begin + size; }
};

class FreeRanges {
 public:
  /// Joined with the ranges that it touches. It must not overlap any.
  void add(AddressRange range);
  /// The first `size` bytes of the smallest range that has them, the lowest among equals.
  std::optional<AddressRange> take(size_t size);
  /// The range that ends at `end`, whole.
  std::optional<AddressRange> take_ending_at(uintptr_t end);
  /// The largest range, whole.
  std::optional<AddressRange> take_largest();
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  using ByAddress = std::map<uintptr_t, size_t>;
  AddressRange remove(ByAddress::iterator range);

  ByAddress by_address_;
  std::set<std::pair<size_t, uintptr_t>> by_size_;
  size_t bytes_ = 0;
};

}  // namespace verlc
