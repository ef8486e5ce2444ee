// Static partitions: which part of the work is whose never changes a result, only the time.
#pragma once

#include <algorithm>
#include <atomic>
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

/// Calls body(slot, i) once for each i in [0, n); calls of one slot follow each other, so each of the
/// threads() slots may have scratch of its own.
template <typename F>
void for_each_slot(Executor& threads, int n, F&& body) {
  std::atomic<int> next{0};
  threads.for_each(std::min(n, threads.threads()), [&](int slot) {
    for (int i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(slot, i);
  });
}

/// A grid of tasks over rows and columns of a matrix.
struct Grid {
  int rows = 1;
  int columns = 1;
};

/// Packing an element of an operand takes about the time of so many of its multiply-adds.
inline constexpr double kPackCost = 12;

/// What the operands of a task of a matrix product cost beside its multiply-adds, in multiply-adds an
/// element: an element of a row is fetched once for all columns of the task, an element of a column once for
/// every `rows_at_once` of its rows.
struct OperandCosts {
  double row, column;
  int64_t rows_at_once;
};

/// The grid over an output of [rows, columns], with borders at multiples of the grains, that a team is done
/// with first: tasks that fetch little twice, and enough of them that a slower core holds nobody up for long.
inline Grid split_grid(int64_t rows, int64_t row_grain, int64_t columns, int64_t column_grain, int team,
                       const OperandCosts& costs) {
  if (team == 1) return {1, 1};
  constexpr int kMostTasks = 8;  // of a thread
  const int64_t row_units = (rows + row_grain - 1) / row_grain;
  const int64_t column_units = (columns + column_grain - 1) / column_grain;
  Grid best{1, 1};
  double least = 0;
  for (int down = 1; down <= kMostTasks * team && down <= row_units; ++down) {
    const auto height = static_cast<double>((row_units + down - 1) / down * row_grain);
    const double shared = std::min(height, static_cast<double>(costs.rows_at_once));
    for (int across = 1; down * across <= kMostTasks * team && across <= column_units; ++across) {
      const auto width = static_cast<double>((column_units + across - 1) / across * column_grain);
      const double task = height * width * (1 + costs.row / width + costs.column / shared);
      // Somebody waits for half a task in the mean.
      const double cost = task * ((down * across + team - 1) / team + 0.5);
      if (least > 0 && cost >= least) continue;
      least = cost;
      best = {down, across};
    }
  }
  return best;
}

}  // namespace verlc::kernels
