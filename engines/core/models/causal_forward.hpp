// The whole forward of a causal language model: layer after layer, with the weights of each unit acquired
// before use and released after it, and the fused log-prob at chosen tokens.
#pragma once

#include <span>
#include <vector>

#include "core/models/model.hpp"

namespace verlc {

/// Who holds the weights. acquire() and release() bracket the use of a unit in forward; on a recording tape
/// they also leave the matching steps of the backward walk there.
class UnitSource {
 public:
  virtual ~UnitSource() = default;
  /// Sets the values of the unit's slots.
  virtual void acquire(Tape& tape, size_t unit) = 0;
  /// The unit is not used again in this forward. `backward_next`: its backward follows at once
  /// (recomputation), so its values are better kept.
  virtual void release(Tape& tape, size_t unit, bool backward_next) = 0;
};

/// Weights that are always there.
class ResidentUnits final : public UnitSource {
 public:
  void acquire(Tape&, size_t) override {}
  void release(Tape&, size_t, bool) override {}
};

/// Hidden states after the last norm, [T, hidden]. The root unit must stay acquired by the caller.
/// `recompute`: keep only each layer's input and repeat the layer in backward (gradient checkpointing).
/// `context`, `model` and `source` must outlive the backward.
Var forward_hidden(const Model& model, const ForwardContext& context, const Tensor& ids, UnitSource& source,
                   bool recompute);

/// Which hidden rows predict which tokens: for every token t of a sequence, not its first, with mask[t] != 0
/// there is the row t - 1, the token t and the inverse of its sequence's temperature.
struct LogprobRows {
  std::vector<int64_t> rows;           ///< indices of hidden rows, ascending
  std::vector<int32_t> targets;        ///< token ids
  std::vector<float> inv_temperature;  ///< 1 / temperature
  std::vector<int64_t> tokens;         ///< index t of each
};

/// tokens, mask: [T]; cu_seqlens: [S + 1]; temperature: [S], or empty = 1.
LogprobRows logprob_rows(std::span<const int32_t> tokens, std::span<const int32_t> cu_seqlens,
                         std::span<const uint8_t> mask, std::span<const float> temperature);

/// Log-probs (first) and entropies (second, undefined unless asked for) of those tokens, [rows].
std::vector<Var> forward_logprob(const Model& model, const ForwardContext& context, const Var& hidden,
                                 const LogprobRows& rows, bool with_entropy);

}  // namespace verlc
