#include "core/text/segments.hpp"

#include <algorithm>

namespace verlc::text {
namespace {

/// Glues each run of matches to the part before it; with reversed parts, to the part after it.
std::vector<Part> glue(const std::vector<Part>& parts, bool backwards) {
  std::vector<Part> glued;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.matched && !previous && !glued.empty()) {
      if (backwards) {
        glued.back().range.begin = part.range.begin;
      } else {
        glued.back().range.end = part.range.end;
      }
    } else {
      glued.push_back({part.range, false});
    }
    previous = part.matched;
  }
  return glued;
}

std::vector<Part> join_equal(const std::vector<Part>& parts) {
  std::vector<Part> joined;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.matched == previous && !joined.empty()) {
      joined.back().range.end = part.range.end;
    } else {
      joined.push_back({part.range, false});
    }
    previous = part.matched;
  }
  return joined;
}

}  // namespace

std::vector<Part> cover(const std::vector<Range>& matches, size_t size) {
  std::vector<Part> parts;
  parts.reserve(matches.size() * 2 + 1);
  size_t last = 0;
  for (const Range& match : matches) {
    if (match.begin != last) parts.push_back({{last, match.begin}, false});
    parts.push_back({match, true});
    last = match.end;
  }
  if (last != size) parts.push_back({{last, size}, false});
  return parts;
}

void append_split(std::vector<Part> parts, SplitBehavior behavior, size_t offset, std::vector<Range>& out) {
  switch (behavior) {
    case SplitBehavior::removed:
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::contiguous:
      parts = join_equal(parts);
      break;
    case SplitBehavior::merged_with_previous:
      parts = glue(parts, false);
      break;
    case SplitBehavior::merged_with_next:
      std::reverse(parts.begin(), parts.end());
      parts = glue(parts, true);
      std::reverse(parts.begin(), parts.end());
      break;
  }
  for (const Part& part : parts) {
    if (behavior == SplitBehavior::removed && part.matched) continue;
    if (part.range.begin == part.range.end) continue;
    out.push_back({part.range.begin + offset, part.range.end + offset});
  }
}

}  // namespace verlc::text
