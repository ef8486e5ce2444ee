// Cosines and sines of a model's rotary embedding, computed once per position and kept in float32.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/rope.hpp"
#include "core/ops/rotary.hpp"
#include "core/tensor/tensor.hpp"

namespace verlc {

/// The rows that the tokens of one pass use. Keeps the table alive.
struct RotaryRows {
  Tensor cos, sin;            ///< [rows, head_dim / 2]
  std::vector<int32_t> rows;  ///< [T]
  [[nodiscard]] RotaryView view() const {
    return {cos.f32(), sin.f32(), rows.data(), static_cast<int64_t>(rows.size())};
  }
};

/// Grows with the longest position asked for. The configuration cannot change after construction. One thread.
class RotaryTable {
 public:
  RotaryTable(Allocator& memory, RopeConfig config, int64_t head_dim);

  /// positions: [T]; cu_seqlens: [S + 1]. A sequence beyond max_position of a "dynamic" model gets angles of
  /// its own.
  RotaryRows rows(std::span<const int32_t> positions, std::span<const int32_t> cu_seqlens);
  /// XXH3-128 of the frequencies, for comparing trainer and generator.
  [[nodiscard]] std::string digest() const;

 private:
  void grow(int64_t positions);
  void fill(const RopeFrequencies& frequencies, int64_t positions, float* cos, float* sin) const;
  void append_stretched(std::span<const int32_t> positions, int64_t length, RotaryRows& result,
                        std::vector<Tensor>& extra_cos, std::vector<Tensor>& extra_sin) const;

  Allocator& memory_;
  RopeConfig config_;
  int64_t head_dim_;
  RopeFrequencies frequencies_;
  Tensor cos_, sin_;
};

}  // namespace verlc
