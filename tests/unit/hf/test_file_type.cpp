#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/hf/file_type.hpp"

namespace verlc::hf {
namespace {

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return bits;
}

// The value of a binary format by its definition, in double.
double decode(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(1.0 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

bool same(float value, double wanted) {
  if (std::isnan(wanted)) return std::isnan(value);
  return double{value} == wanted && std::signbit(value) == std::signbit(wanted);
}

size_t wrong_values(FileType type, int exponent_bits, int fraction_bits, size_t shift) {
  const std::vector<uint16_t> bits = all_bits();
  std::vector<std::byte> source(2 * bits.size() + shift);
  std::memcpy(source.data() + shift, bits.data(), 2 * bits.size());
  std::vector<float> out(bits.size());
  convert_to_f32(type, source.data() + shift, bits.size(), out.data());
  size_t wrong = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    wrong += same(out[i], decode(bits[i], exponent_bits, fraction_bits)) ? 0 : 1;
  return wrong;
}

}  // namespace

TEST_CASE("every half and bfloat16 becomes its float32, at any alignment") {
  for (const size_t shift : {0, 1, 3}) {
    CHECK(wrong_values(FileType::f16, 5, 10, shift) == 0);
    CHECK(wrong_values(FileType::bf16, 8, 7, shift) == 0);
  }
  // The reference can fail: half bits read as bfloat16 are other numbers.
  CHECK(wrong_values(FileType::f16, 8, 7, 0) > 60000);
}

TEST_CASE("bfloat16 comes back from float32 unchanged and ties go to even") {
  const std::vector<uint16_t> bits = all_bits();
  std::vector<float> wide(bits.size());
  convert_to_f32(FileType::bf16, reinterpret_cast<const std::byte*>(bits.data()), bits.size(), wide.data());
  std::vector<uint16_t> back(bits.size());
  convert_to_bf16(wide.data(), wide.size(), back.data());
  size_t changed = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    changed +=
        std::isnan(wide[i]) ? ((back[i] | 0x40) == (bits[i] | 0x40) ? 0 : 1) : (back[i] == bits[i] ? 0 : 1);
  }
  CHECK(changed == 0);

  // Exactly between two neighbours the even one is chosen; a hair off, the nearer one.
  size_t wrong = 0;
  for (uint32_t upper = 0; upper < 0x7F80; ++upper) {
    const uint32_t middle = (upper << 16) | 0x8000u;
    const float values[3] = {std::bit_cast<float>(middle - 1), std::bit_cast<float>(middle),
                             std::bit_cast<float>(middle + 1)};
    uint16_t out[3];
    convert_to_bf16(values, 3, out);
    wrong += out[0] == upper && out[1] == (upper + (upper & 1)) && out[2] == upper + 1 ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("float64 is rounded to the nearest float32") {
  const std::vector<double> source = {1.0, -0.0, 0.1, 1.0 + 0x1p-24, 1.0 + 3 * 0x1p-24, 1e300};
  std::vector<float> out(source.size());
  convert_to_f32(FileType::f64, reinterpret_cast<const std::byte*>(source.data()), source.size(), out.data());
  CHECK(out[0] == 1.0f);
  CHECK(std::signbit(out[1]));
  CHECK(out[2] == 0.1f);
  CHECK(out[3] == 1.0f);
  CHECK(out[4] == 1.0f + 0x1p-22f);
  CHECK(std::isinf(out[5]));
}

TEST_CASE("file types have the format's names") {
  CHECK(file_type_of("BF16") == FileType::bf16);
  CHECK(file_type_of("BOOL") == FileType::boolean);
  CHECK_FALSE(file_type_of("bf16").has_value());
  CHECK(is_unsupported_file_type("F8_E4M3"));
  CHECK_FALSE(is_unsupported_file_type("F32"));
  CHECK(file_type_of(DType::bf16) == FileType::bf16);
  CHECK(torch_name(FileType::bf16) == "bfloat16");
}

}  // namespace verlc::hf
