// Element types of safetensors files, and their exact conversions to float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tensor/dtype.hpp"

namespace verlc::hf {

enum class FileType : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

/// Bytes of one element.
size_t file_type_size(FileType type);
/// The name inside a header: "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL".
std::string_view file_type_name(FileType type);
/// The type of a header's name; empty for one that is not read (see unsupported_file_type).
std::optional<FileType> file_type_of(std::string_view name);
/// True for names that the format defines and this program does not read: F8_E4M3, U16, C64 and their like.
bool is_unsupported_file_type(std::string_view name);
/// "F64, F32, ..., BOOL", for messages.
std::string supported_file_types();

/// True for f64, f32, f16 and bf16.
constexpr bool is_floating(FileType type) {
  return type <= FileType::bf16;
}
/// The type that a tensor in memory is written as: f32 -> F32, bf16 -> BF16, i32 -> I32, u8 -> U8.
FileType file_type_of(DType dtype);
/// "float32", "bfloat16", ...: the value of torch_dtype / dtype in config.json.
std::string_view torch_name(FileType type);

/// The float32 of IEEE 754 binary16 bits; exact, subnormals included. A NaN keeps its payload and becomes
/// quiet.
float f16_to_f32(uint16_t bits);

/// Converts `count` little-endian elements of a floating type at `source` (any alignment) to float32: exact
/// for f32, f16 and bf16, rounded to nearest even for f64. Other types are a broken invariant.
void convert_to_f32(FileType type, const std::byte* source, size_t count, float* out);
/// Rounds `count` float32 to bfloat16, nearest even.
void convert_to_bf16(const float* source, size_t count, uint16_t* out);

}  // namespace verlc::hf
