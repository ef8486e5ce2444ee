// The order in which a run walks through its rows: a new permutation each epoch, whole batches only,
// resumable at any step.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace verlc {

struct RowSamplerConfig {
  size_t rows = 0;
  size_t batch_size = 0;  ///< rows per step over all ranks (data.train_batch_size)
  uint64_t seed = 0;
  bool shuffle = true;
  uint64_t epochs = 1;
  std::optional<uint64_t> total_steps{};  ///< trainer.total_training_steps; unset: epochs x steps per epoch
  std::string digest{};                   ///< of the dataset, so that a resume notices changed data
};

/// Equal on every rank for an equal config. The last rows of an epoch that fill no batch are left out, as
/// verl's loader does. Not thread-safe.
class RowSampler {
 public:
  /// Error(input) when the rows fill no batch.
  explicit RowSampler(RowSamplerConfig config);

  /// Row indices of the next step, [batch_size]. Must not be called when complete().
  std::vector<uint32_t> next();

  [[nodiscard]] uint64_t steps_per_epoch() const { return config_.rows / config_.batch_size; }
  [[nodiscard]] uint64_t total_steps() const { return total_steps_; }
  [[nodiscard]] uint64_t steps_done() const;
  /// Nothing is left to do; after a resume this means "already complete".
  [[nodiscard]] bool complete() const { return steps_done() >= total_steps_; }
  /// Epoch of the last batch, from 0.
  [[nodiscard]] uint64_t epoch() const { return epoch_; }

  [[nodiscard]] nlohmann::json state() const;
  /// Goes on exactly behind the step that state() was taken at. Error(input) when the state is broken or was
  /// taken with other data or another order, naming what differs.
  void restore(const nlohmann::json& state);

 private:
  void order_epoch();

  RowSamplerConfig config_;
  uint64_t total_steps_ = 0;
  uint64_t epoch_ = 0;
  uint64_t position_ = 0;  // rows of this epoch already given out
  std::vector<uint32_t> order_;
};

}  // namespace verlc
