#include "core/kernels/cpu/packed_layout.hpp"

#include "core/base/check.hpp"

namespace verlc::kernels {

std::vector<bool> segments_with_children(const PackedLayout& layout) {
  std::vector<bool> has_children(layout.size(), false);
  check(layout.parent.empty() || layout.parent.size() == layout.size(), "every segment has a parent entry");
  for (size_t s = 0; s < layout.size(); ++s) {
    const int64_t parent = layout.parent_of(s);
    if (parent < 0) continue;
    check(parent < static_cast<int64_t>(s) && layout.parent_of(static_cast<size_t>(parent)) < 0,
          "a parent comes before its children and has no parent");
    has_children[static_cast<size_t>(parent)] = true;
  }
  return has_children;
}

}  // namespace verlc::kernels
