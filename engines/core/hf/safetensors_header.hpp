// The JSON header of a safetensors file: parsed without building a tree, and checked against the data's size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/hf/file_type.hpp"
#include "core/tensor/tensor.hpp"

namespace verlc::hf {

/// One entry: the data is bytes [begin, end) behind the header.
struct HeaderEntry {
  std::string name;
  FileType type = FileType::f32;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Parses the header and proves it: known types, shapes whose bytes are exactly the offsets' distance, data
/// that fills [0, data_bytes) without overlap or hole, no name twice. Error(input) with `where` and the
/// tensor otherwise.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                           const std::string& where);

}  // namespace verlc::hf
