// The few numbers of a model's config.json that static rules need. No weight is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace verlc {

/// Unset members are absent from config.json or not of the expected type.
struct ModelFacts {
  std::filesystem::path file;
  std::string architecture;  ///< first of `architectures`
  std::optional<int64_t> hidden_size;
  std::optional<int64_t> num_layers;
  std::optional<int64_t> num_heads;
  std::optional<int64_t> num_kv_heads;  ///< num_heads when absent
  std::optional<int64_t> head_dim;      ///< hidden_size / num_heads when absent
  std::optional<int64_t> vocab_size;
  std::optional<int64_t>
      max_positions;  ///< max_position_embeddings, extended by a rope scaling that extends it

  /// Bytes of keys and values of one token in float32; nullopt when a number is missing.
  [[nodiscard]] std::optional<int64_t> kv_bytes_per_token() const;
};

/// Reads <folder>/config.json. On failure `fault` says why and the result is empty.
std::optional<ModelFacts> read_model_facts(const std::filesystem::path& folder, std::string& fault);

}  // namespace verlc
