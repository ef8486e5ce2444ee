#include "algorithms/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace verlc {
namespace {

constexpr int kLimbBits = 24;
constexpr int kTopExponent = 72;

double limb_weight(size_t limb) {
  return std::ldexp(1.0, kTopExponent - kLimbBits * static_cast<int>(limb));
}

}  // namespace

void ExactSum::add(double term) {
  if (!(std::abs(term) < std::ldexp(1.0, kTopExponent + kLimbBits))) {
    parts_[kLimbs] += term;
    return;
  }
  for (size_t limb = 0; limb < kLimbs && term != 0.0; ++limb) {
    const double weight = limb_weight(limb);
    const double whole = std::trunc(term / weight);
    parts_[limb] += whole;
    term -= whole * weight;
  }
}

double ExactSum::value() const {
  // Carries first: limbs of mixed sign would otherwise cancel only after rounding.
  std::array<double, kLimbs> limbs{};
  double carry = 0.0;
  const double base = std::ldexp(1.0, kLimbBits);
  for (size_t i = kLimbs; i-- > 0;) {
    const double total = parts_[i] + carry;
    carry = i == 0 ? 0.0 : std::nearbyint(total / base);
    limbs[i] = total - carry * base;
  }
  double sum = parts_[kLimbs];
  for (size_t limb = 0; limb < kLimbs; ++limb) sum += limbs[limb] * limb_weight(limb);
  return sum;
}

void reduce_sums(std::span<ExactSum> sums, GroupReducer& group) {
  std::vector<double> parts;
  parts.reserve(sums.size() * ExactSum::kParts);
  for (ExactSum& sum : sums) parts.insert(parts.end(), sum.parts().begin(), sum.parts().end());
  group.sum(parts);
  auto from = parts.begin();
  for (ExactSum& sum : sums) {
    std::copy_n(from, ExactSum::kParts, sum.parts().begin());
    from += ExactSum::kParts;
  }
}

}  // namespace verlc
