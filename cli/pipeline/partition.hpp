// Dividing items of known cost into parts that are as even as can be had cheaply. Pure and deterministic:
// every rank that calls it with the same numbers gets the same parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace verlc::pipeline {

/// The part, in [0, parts), of every item, so that the largest sum of costs is small: the largest
/// differencing method (Karmarkar and Karp 1982) for `parts` sets, then moves and swaps while they lower the
/// largest sum. costs: [items], finite and >= 0. Parts may be empty. The largest sum is at most 4/3 of the
/// least possible (Michiels et al. 2003, for the method alone).
std::vector<size_t> partition(std::span<const double> costs, size_t parts);

/// Sum of costs of each part; [parts].
std::vector<double> part_costs(std::span<const double> costs, std::span<const size_t> part_of, size_t parts);

/// partition() over ranks, with parts named so that much of the cost stays with its owner; the owners
/// themselves when that would not lower the largest sum. owners: [items], in [0, ranks).
std::vector<size_t> assign_to_ranks(std::span<const double> costs, std::span<const size_t> owners,
                                    size_t ranks);

}  // namespace verlc::pipeline
