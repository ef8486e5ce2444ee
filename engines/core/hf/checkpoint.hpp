// The weights of a Hugging Face folder: one model.safetensors, or shards under model.safetensors.index.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/executor.hpp"
#include "core/hf/safetensors_file.hpp"

namespace verlc::hf {

/// A tensor that the model needs.
struct ExpectedTensor {
  std::string name;
  Shape shape;
};

/// What config.json says of the output head. With `tied`, the head is the embedding, whether the expected
/// list names it or not.
struct TieRule {
  bool tied = false;
  std::string embedding = "model.embed_tokens.weight";
  std::string head = "lm_head.weight";
};

/// What match() found besides the expected tensors.
struct MatchResult {
  bool head_is_embedding = false;  ///< do not read or save the head: it is the embedding
  std::vector<std::string>
      ignored;  ///< stored, not needed, known to be harmless (rotary tables, a tied head)
};

/// Read-only and safe to read from many threads. Movable.
class HfCheckpoint {
 public:
  /// Opens and checks every file. Error(input): no such folder, no safetensors in it (and what is there
  /// instead), an index that names an absent file or a tensor absent from its file, a tensor in two files.
  /// When both a single file and an index are there, the single file counts.
  static HfCheckpoint open(const std::filesystem::path& folder);

  /// Every tensor, sorted by name.
  [[nodiscard]] std::vector<const TensorView*> tensors() const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The tensor of that name, or null.
  [[nodiscard]] const TensorView* find(std::string_view name) const;
  /// The tensor of that name; Error(input) naming it and the nearest names when it is absent.
  [[nodiscard]] const TensorView& tensor(const std::string& name) const;
  [[nodiscard]] FileType dtype(const std::string& name) const { return tensor(name).type; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Sum of all tensors' bytes.
  [[nodiscard]] uint64_t total_bytes() const;

  /// Writes the tensor's elements to `out` [num_elements(shape)] as float32: exact from F32, BF16 and F16, to
  /// nearest from F64. Error(input) when it is absent, has another shape or is not of a floating type.
  /// `executor` splits the conversion over its threads.
  void read_f32(const std::string& name, const Shape& shape, float* out, Executor* executor = nullptr) const;

  /// Compares what is stored with what a model needs. One Error(input) names every missing, extra and
  /// misshaped tensor and every one of a wrong type. Tied head: absent, or present and equal -> an alias;
  /// present and different -> the Error, with the largest |difference|; untied and absent -> the Error.
  [[nodiscard]] MatchResult match(const std::vector<ExpectedTensor>& expected, const TieRule& tie) const;

 private:
  HfCheckpoint() = default;
  void open_single(const std::filesystem::path& file);
  void open_shards(const std::filesystem::path& index);
  void add(const TensorView& tensor, const std::string& file);

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  struct Place {
    const TensorView* tensor;
    std::string file;
  };
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace verlc::hf
