// How a matrix product treats its operands. Sums and results are float32 in every case.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace verlc::kernels {

enum class Precision : uint8_t {
  f32,           ///< operands as they are
  bf16_weights,  ///< the weight rounded to bfloat16, the other operand as it is
  bf16,          ///< both operands rounded to bfloat16
};

/// Their names in configurations, in the order of the enumeration.
inline constexpr std::array<std::string_view, 3> kPrecisionNames = {"float32", "bfloat16_weights",
                                                                    "bfloat16"};

/// Nothing for another name.
constexpr std::optional<Precision> parse_precision(std::string_view name) {
  for (size_t i = 0; i < kPrecisionNames.size(); ++i)
    if (kPrecisionNames[i] == name) return static_cast<Precision>(i);
  return std::nullopt;
}

/// Whether a weight is held in two bytes an element.
constexpr bool is_narrow(Precision precision) {
  return precision != Precision::f32;
}

}  // namespace verlc::kernels
