// Writes the weights of a Hugging Face folder under the names that transformers uses, and copies its other
// files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/executor.hpp"
#include "core/hf/safetensors_writer.hpp"

namespace verlc::hf {

/// model.safetensors, or model-00001-of-0000N.safetensors with an index when the tensors exceed
/// `max_shard_bytes`. A tensor larger than that stands alone in its shard. Types are F32 and BF16. Files
/// appear by commit() alone; all data is safe on the disk before the first rename, and the index comes last.
/// Older weights in the folder that the new ones do not replace are then removed. One thread at a time; one
/// rank.
class CheckpointWriter {
 public:
  static constexpr uint64_t default_shard_bytes = 5'000'000'000;

  /// Creates the folder when it is absent, and reserves the space. Error(run) when the disk is too full.
  CheckpointWriter(std::filesystem::path folder, std::vector<TensorSpec> tensors,
                   uint64_t max_shard_bytes = default_shard_bytes);

  /// A whole tensor, [num_elements]; float32 is rounded to nearest even when the tensor is declared BF16, and
  /// bfloat16 is widened when it is declared F32.
  void write(std::string_view name, std::span<const float> values);
  void write(std::string_view name, std::span<const uint16_t> bf16_values);
  /// Elements [begin, begin + values.size()) of the flat order.
  void write_part(std::string_view name, int64_t begin, std::span<const float> values);
  void write_part(std::string_view name, int64_t begin, std::span<const uint16_t> bf16_values);
  /// Every tensor must be complete.
  void commit();

  /// Names of the weight files, in order.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  [[nodiscard]] std::string index_text() const;
  void remove_older() const;

  std::filesystem::path folder_;
  std::vector<std::string> files_;
  std::vector<SafetensorsWriter> shards_;
  std::map<std::string, size_t, std::less<>> shard_of_;
  uint64_t total_bytes_ = 0;
  uint64_t total_elements_ = 0;
};

/// Copies what stands beside the weights (config.json, generation_config.json, tokenizer files, chat
/// templates, processor files) verbatim from `from` to `to`, which is created. In config.json torch_dtype /
/// dtype is changed when it names another type than `written`. Nothing is done when both are the same folder.
/// Returns the names copied.
std::vector<std::string> copy_model_files(const std::filesystem::path& from, const std::filesystem::path& to,
                                          FileType written);

}  // namespace verlc::hf
