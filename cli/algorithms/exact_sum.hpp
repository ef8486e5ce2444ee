// A sum whose value does not depend on the order of its terms nor on how they are spread over ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/group_reducer.hpp"

namespace verlc {

/// Fixed-point accumulator: each term is cut into 24-bit limbs with weights 2^72 ... 2^-96. Limbs are whole
/// numbers below 2^53, so adding them is exact and associative for up to 2^28 terms over all ranks. What lies
/// below 2^-96 is dropped per term, hence equally for every order. Terms that are not finite or not below
/// 2^96 go into a plain sum beside the limbs. Not thread-safe.
class ExactSum {
 public:
  static constexpr size_t kLimbs = 8;
  static constexpr size_t kParts = kLimbs + 1;  ///< limbs, then the plain sum

  void add(double term);
  /// The sum, rounded once per limb, from the largest limb to the smallest.
  [[nodiscard]] double value() const;
  /// The state as [kParts] numbers whose element-wise sum over ranks is the state of the whole.
  [[nodiscard]] std::span<double> parts() { return parts_; }

 private:
  std::array<double, kParts> parts_{};
};

/// Reduces several sums over all ranks in one call.
void reduce_sums(std::span<ExactSum> sums, GroupReducer& group);

}  // namespace verlc
