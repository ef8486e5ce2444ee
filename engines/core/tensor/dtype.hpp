// Data types of tensors, and the bfloat16 conversions of single values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verlc {

enum class DType : uint8_t { f32, bf16, i32, u8 };

constexpr size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// "float32", "bfloat16", "int32", "uint8".
constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::bf16:
      return "bfloat16";
    case DType::i32:
      return "int32";
    case DType::u8:
      return "uint8";
  }
  return "";
}

/// The float32 with these upper 16 bits; exact.
constexpr float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// Round to nearest, ties to even; NaN stays a quiet NaN.
constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace verlc
