// Static partitions: which part of the work is whose never changes a result, only the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/executor.hpp"

namespace verlc::kernels {

/// Tasks per thread: a few, so that one slow core does not hold up the rest.
inline constexpr int kTasksPerThread = 4;

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Part `index` of `parts` of [0, n), with borders at multiples of `grain`.
inline Range part_of(int64_t n, int64_t grain, int64_t parts, int64_t index) {
  const int64_t grains = (n + grain - 1) / grain;
  return {std::min(n, grains * index / parts * grain), std::min(n, grains * (index + 1) / parts * grain)};
}

/// Calls body(begin, end) over [0, n) in parts of at least `least` elements, with borders at multiples of
/// `grain`.
template <typename F>
void for_ranges(Executor& threads, int64_t n, int64_t grain, int64_t least, F&& body) {
  if (n <= 0) return;
  const int64_t most = threads.threads() == 1 ? 1 : int64_t{threads.threads()} * kTasksPerThread;
  const int parts = static_cast<int>(std::clamp<int64_t>(n / std::max<int64_t>(least, 1), 1, most));
  threads.for_each(parts, [&](int i) {
    const Range range = part_of(n, grain, parts, i);
    if (range.begin < range.end) body(range.begin, range.end);
  });
}

/// A grid of tasks over rows and columns of a matrix.
struct Grid {
  int rows = 1;
  int columns = 1;
};

/// The grid of at most `tasks` tasks whose largest task is smallest; columns are split first.
inline Grid split_grid(int64_t row_units, int64_t column_units, int tasks) {
  Grid best{1, 1};
  int64_t best_cost = row_units * column_units + 1;
  for (int rows = 1; rows <= tasks && rows <= row_units; ++rows) {
    const int columns = static_cast<int>(std::min<int64_t>(tasks / rows, column_units));
    const int64_t cost =
        ((row_units + rows - 1) / rows) * ((column_units + columns - 1) / std::max(columns, 1));
    if (columns >= 1 && cost < best_cost) {
      best_cost = cost;
      best = {rows, columns};
    }
  }
  return best;
}

}  // namespace verlc::kernels
