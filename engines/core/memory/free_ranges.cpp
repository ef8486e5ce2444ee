#include "core/memory/free_ranges.hpp"

#include <iterator>

namespace verlc {

AddressRange FreeRanges::remove(ByAddress::iterator range) {
  const AddressRange removed{range->first, range->second};
  by_size_.erase({removed.size, removed.begin});
  by_address_.erase(range);
  bytes_ -= removed.size;
  return removed;
}

void FreeRanges::add(AddressRange range) {
  auto next = by_address_.lower_bound(range.begin);
  if (next != by_address_.end() && next->first == range.end()) {
    const auto joined = next++;
    range.size += remove(joined).size;
  }
  if (next != by_address_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == range.begin) {
      const AddressRange joined = remove(before);
      range = {joined.begin, joined.size + range.size};
    }
  }
  by_address_.emplace(range.begin, range.size);
  by_size_.emplace(range.size, range.begin);
  bytes_ += range.size;
}

std::optional<AddressRange> FreeRanges::take(size_t size) {
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const AddressRange whole = remove(by_address_.find(fit->second));
  if (whole.size > size) add({whole.begin + size, whole.size - size});
  return AddressRange{whole.begin, size};
}

std::optional<AddressRange> FreeRanges::take_ending_at(uintptr_t end) {
  auto next = by_address_.lower_bound(end);
  if (next == by_address_.begin()) return std::nullopt;
  const auto last = std::prev(next);
  if (last->first + last->second != end) return std::nullopt;
  return remove(last);
}

std::optional<AddressRange> FreeRanges::take_largest() {
  if (by_size_.empty()) return std::nullopt;
  return remove(by_address_.find(std::prev(by_size_.end())->second));
}

}  // namespace verlc
