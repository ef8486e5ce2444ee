// Writes one safetensors file piece by piece: the header first, then each tensor's data in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/hf/file_type.hpp"
#include "core/tensor/tensor.hpp"

namespace verlc::hf {

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  Shape shape;
  FileType type = FileType::f32;

  /// Bytes of its data.
  [[nodiscard]] uint64_t bytes() const;
};

using Metadata = std::map<std::string, std::string>;

/// The file appears under its name only by commit(); until then it has a temporary name, and without commit()
/// nothing is left. Its space is reserved at the start, so that a full disk shows before hours of work: every
/// failed write throws Error(run) naming the path. Bytes are as the format's own library writes them: wider
/// types first, then by name. One thread at a time.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path, std::vector<TensorSpec> tensors,
                    const Metadata& metadata = {});
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;
  ~SafetensorsWriter();

  /// The whole data of a tensor, little-endian elements of its type.
  void write(std::string_view name, const void* data, uint64_t bytes);
  /// Bytes [offset, offset + bytes) of a tensor's data. Parts must not overlap.
  void write_part(std::string_view name, uint64_t offset, const void* data, uint64_t bytes);
  /// Makes the data safe on the disk, still under the temporary name. Every tensor must be complete.
  void finish();
  /// finish() where that was not called, and the rename.
  void commit();

  [[nodiscard]] const std::filesystem::path& path() const;
  /// The type that a tensor was declared with.
  [[nodiscard]] FileType type(std::string_view name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace verlc::hf
