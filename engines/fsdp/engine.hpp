// The training engine: log-probs, gradients and updates of one model over the data-parallel ranks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/nn/rotary_table.hpp"
#include "fsdp/checkpoint.hpp"
#include "fsdp/micro_batches.hpp"
#include "fsdp/sharded_units.hpp"
#include "fsdp/weight_export.hpp"

namespace verlc::fsdp {

/// The extra input that this engine takes; its meaning stands at verlc_batch in plugin.h.
inline constexpr const char* kSharedPrefix = "shared_prefix";

/// The arrays of a verlc_batch, checked. Borrowed.
struct Batch {
  std::span<const int32_t> tokens, positions;  ///< [T]
  std::span<const int32_t> cu_seqlens;         ///< [S + 1]
  std::span<const uint8_t> mask;               ///< [T]
  std::span<const float> temperature;          ///< [S], or empty = 1
  std::span<const int32_t> shared_prefix;      ///< [S, 2] as in plugin.h, or empty = nothing is shared
  uint64_t max_sequences = 0, max_tokens = 0, cancel_scope = 0;
};

/// Throws plugin::Failure(VERLC_E_ARGUMENT) naming the tensor and rule that the host broke.
Batch read_batch(const verlc_batch& batch, int64_t vocab);

/// Calls are collective over the data-parallel ranks; see plugin.h for the rules of each.
class Engine {
 public:
  Engine(const Config& config, const plugin::Host& host, const verlc_topology& topology);

  void forward_logp(const Batch& batch, float* logp, float* entropy);
  double forward_backward(const Batch& batch, bool need_entropy, verlc_loss_callback loss,
                          void* loss_context);
  void optimizer_step(verlc_optimizer_step& step);
  void zero_grad() { units_.zero_grad(); }
  void save(const std::string& dir, uint32_t parts) { save_shards(dir, parts, model_, units_, optimizer_); }
  void load(const std::string& dir, uint32_t parts) { load_shards(dir, parts, model_, units_, optimizer_); }
  void export_begin(uint64_t bucket_bytes) {
    export_ = std::make_unique<WeightExport>(model_, units_, bucket_bytes);
  }
  std::vector<const verlc_named_tensor*> export_next(uint32_t capacity);
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const plugin::Host& host() const { return services_.host(); }
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  struct Pass;
  Batch usable(Batch batch);
  std::vector<MicroBatch> cut_equally(const Batch& batch, std::span<const Extent> extents);
  void call_loss(Pass& pass, const MicroBatch& part, size_t index, verlc_loss_callback loss,
                 void* loss_context, double* loss_sum);

  Config config_;
  EngineServices services_;
  plugin::Group dp_;
  Model model_;
  RotaryTable rotary_;
  ShardedUnits units_;
  OptimizerState optimizer_;
  std::unique_ptr<WeightExport> export_;
  bool told_unshared_ = false;
};

}  // namespace verlc::fsdp
