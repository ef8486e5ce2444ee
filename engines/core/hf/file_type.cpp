#include "core/hf/file_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/check.hpp"

namespace verlc::hf {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian, as are our targets");

struct TypeRow {
  FileType type;
  std::string_view name;
  std::string_view torch;
  size_t size;
};

constexpr std::array<TypeRow, 10> kTypes = {{{FileType::f64, "F64", "float64", 8},
                                             {FileType::f32, "F32", "float32", 4},
                                             {FileType::f16, "F16", "float16", 2},
                                             {FileType::bf16, "BF16", "bfloat16", 2},
                                             {FileType::i64, "I64", "int64", 8},
                                             {FileType::i32, "I32", "int32", 4},
                                             {FileType::i16, "I16", "int16", 2},
                                             {FileType::i8, "I8", "int8", 1},
                                             {FileType::u8, "U8", "uint8", 1},
                                             {FileType::boolean, "BOOL", "bool", 1}}};

constexpr std::array<std::string_view, 13> kUnsupported = {
    "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2",
    "F4",      "U16",     "U32",     "U64",         "C64",         "C128"};

const TypeRow& row(FileType type) {
  return kTypes[static_cast<size_t>(type)];
}

template <typename T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

}  // namespace

size_t file_type_size(FileType type) {
  return row(type).size;
}
std::string_view file_type_name(FileType type) {
  return row(type).name;
}
std::string_view torch_name(FileType type) {
  return row(type).torch;
}

std::optional<FileType> file_type_of(std::string_view name) {
  for (const TypeRow& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

bool is_unsupported_file_type(std::string_view name) {
  return std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end();
}

std::string supported_file_types() {
  std::string names;
  for (const TypeRow& known : kTypes) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

FileType file_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return FileType::f32;
    case DType::bf16:
      return FileType::bf16;
    case DType::i32:
      return FileType::i32;
    case DType::u8:
      return FileType::u8;
  }
  return FileType::u8;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t wide = exponent == 31 ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

void convert_to_f32(FileType type, const std::byte* source, size_t count, float* out) {
  check(is_floating(type), "only floating types become float32");
  switch (type) {
    case FileType::f32:
      if (count > 0) std::memcpy(out, source, count * sizeof(float));
      return;
    case FileType::bf16:
      for (size_t i = 0; i < count; ++i) out[i] = bf16_to_f32(load<uint16_t>(source + 2 * i));
      return;
    case FileType::f16:
      for (size_t i = 0; i < count; ++i) out[i] = f16_to_f32(load<uint16_t>(source + 2 * i));
      return;
    default:
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(load<double>(source + 8 * i));
  }
}

void convert_to_bf16(const float* source, size_t count, uint16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = f32_to_bf16(source[i]);
}

}  // namespace verlc::hf
