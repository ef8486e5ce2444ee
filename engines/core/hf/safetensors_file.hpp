// A safetensors file, mapped and believed only after every byte of its header was checked.
// Format: 8 bytes little-endian header length, a JSON object {name: {dtype, shape, data_offsets}}, then the
// data without holes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.hpp"
#include "core/hf/file_type.hpp"
#include "core/tensor/tensor.hpp"

namespace verlc::hf {

/// One stored tensor. `bytes` lies in the map of the file that gave it, at any alignment.
struct TensorView {
  std::string name;
  FileType type = FileType::f32;
  Shape shape;
  std::span<const std::byte> bytes;

  /// Number of elements.
  [[nodiscard]] int64_t size() const { return num_elements(shape); }
};

/// Read-only; views stay valid as long as the file lives, also after a move. Safe to read from many threads.
class SafetensorsFile {
 public:
  /// Maps the file. Error(input) naming the path and the broken rule when the file or its header is wrong.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Reads bytes that the caller keeps alive; `where` names them in messages.
  SafetensorsFile(std::span<const std::byte> bytes, std::string where);

  /// Every tensor in the order of its data.
  [[nodiscard]] const std::vector<TensorView>& tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  [[nodiscard]] const TensorView* find(std::string_view name) const;
  /// The "__metadata__" strings; empty without it.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The path, or the `where` given.
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  void read(std::span<const std::byte> bytes);

  std::optional<MappedFile> map_;
  std::string where_;
  std::vector<TensorView> tensors_;
  std::vector<size_t> by_name_;  // indices into tensors_, sorted by name
  std::map<std::string, std::string> metadata_;
};

}  // namespace verlc::hf
