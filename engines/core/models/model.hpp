// A causal language model for one device: its weights' slots in units, and the forward in steps that an
// engine calls one by one, so that it can gather and release weights between them.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/models/model_config.hpp"
#include "core/nn/decoder_layer.hpp"
#include "core/nn/forward_context.hpp"
#include "core/nn/parameter.hpp"

namespace verlc {

class Model {
 public:
  explicit Model(ModelConfig config);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  /// Unit 0 is the root (embedding, final norm, head), unit 1 + i is layer i.
  [[nodiscard]] std::deque<Unit>& units() { return units_; }
  [[nodiscard]] const std::deque<Unit>& units() const { return units_; }
  /// Every slot, unit by unit.
  [[nodiscard]] std::vector<Parameter*> parameters();
  /// Sum of all weights' elements.
  [[nodiscard]] int64_t num_parameters() const;

  /// ids: int32 [T] -> [T, hidden]. Needs the root unit.
  [[nodiscard]] Var embed(const ForwardContext& context, const Tensor& ids) const;
  /// x [T, hidden] -> [T, hidden]. Needs unit 1 + layer.
  [[nodiscard]] Var layer(const ForwardContext& context, int64_t layer, const Var& x) const;
  /// The last norm, before the head. Needs the root unit.
  [[nodiscard]] Var final_norm(const ForwardContext& context, const Var& x) const;
  /// The head's weight [vocab, hidden]: the embedding itself when tied.
  [[nodiscard]] const Parameter& head() const { return *head_; }
  [[nodiscard]] const Parameter& embedding() const { return *embedding_; }

 private:
  ModelConfig config_;
  std::deque<Unit> units_;
  std::vector<DecoderLayer> layers_;
  Parameter *embedding_ = nullptr, *norm_ = nullptr, *head_ = nullptr;
};

/// Fills a weight as its slot says; the same values on every rank and for any sharding. Norms are ones,
/// biases zeros, matrices normal with config.initializer_range.
void initialize(const Parameter& parameter, const ModelConfig& config, uint64_t seed, float* out);

}  // namespace verlc
