// A training engine behind the C ABI, as the pipeline sees it: spans in, Error out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/plugin.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// Sequences packed without padding; see verlc_batch. Spans are borrowed for the call.
struct PackedBatch {
  std::span<const int32_t> tokens = {};      ///< [T]
  std::span<const int32_t> positions = {};   ///< [T]
  std::span<const int32_t> cu_seqlens = {};  ///< [S + 1], from 0 to T
  std::span<const uint8_t> loss_mask = {};   ///< [T]
  std::span<const float> temperature = {};   ///< [S], or empty = 1
  /// [S, 2] group and common leading tokens as "shared_prefix" of verlc_batch, or empty; not sent to an
  /// engine that does not take it.
  std::span<const int32_t> shared_prefix = {};
  uint64_t micro_batch_sequences = 0;  ///< 0 = no limit
  uint64_t micro_batch_tokens = 0;     ///< 0 = no limit
};

/// Fills the d_ arrays and the loss of a micro-batch. May throw: the exception passes the engine as a status
/// and comes out of forward_backward unchanged.
using LossFunction = std::function<void(verlc_micro_batch& micro_batch)>;

struct OptimizerResult {
  double grad_norm = 0;  ///< before clipping, over all ranks
  bool skipped = false;  ///< the norm was not finite
};

/// Receives a bucket of exported weights, borrowed for the call.
using WeightSink = std::function<void(std::span<const verlc_named_tensor* const> bucket)>;

/// Calls are collective over the topology's dp group unless they say local. One call at a time.
class TrainEngine {
 public:
  /// config: the engine's JSON. Reads the weights.
  TrainEngine(std::shared_ptr<Plugin> plugin, const std::string& config, const verlc_topology& topology);
  TrainEngine(const TrainEngine&) = delete;
  TrainEngine& operator=(const TrainEngine&) = delete;
  ~TrainEngine();

  /// Local, before any engine exists: bytes by phase and category as JSON; see verlc_train_api.estimate.
  static std::string estimate(const Plugin& plugin, const std::string& config, const std::string& workload);

  /// logp [T]; entropy and value [T] or empty = not wanted.
  Outcome forward_logp(const PackedBatch& batch, std::span<float> logp, std::span<float> entropy = {},
                       std::span<float> value = {});
  /// Adds gradients; `loss_sum` (may be null) gets the sum of the micro-batches' losses on this rank.
  Outcome forward_backward(const PackedBatch& batch, bool need_entropy, const LossFunction& loss,
                           double* loss_sum = nullptr);
  /// clip_grad <= 0 = none.
  OptimizerResult optimizer_step(double lr, double clip_grad);
  void zero_grad();
  /// VERLC_PART_... bits.
  void offload(uint32_t parts);
  void onload(uint32_t parts);
  /// Every weight once, in name order, in buckets; tensors are released after `sink` returns or throws.
  void export_weights(uint64_t bucket_bytes, const WeightSink& sink);
  void save(const std::filesystem::path& folder, uint32_t parts);
  void load(const std::filesystem::path& folder, uint32_t parts);
  /// Local.
  [[nodiscard]] std::vector<verlc_memory_stat> memory_stats();
  [[nodiscard]] const Plugin& plugin() const { return *plugin_; }

  /// Whether PackedBatch::shared_prefix reaches the engine.
  [[nodiscard]] bool takes_shared_prefix() const { return takes_shared_prefix_; }

 private:
  Outcome finish(std::string_view call, verlc_status status, const verlc_error& error) const;
  /// finish() of a call on a batch, which is done or failed.
  Outcome whole(std::string_view call, verlc_status status, const verlc_error& error) const;

  std::shared_ptr<Plugin> plugin_;
  const verlc_train_api* api_;
  verlc_train* train_ = nullptr;
  bool takes_shared_prefix_ = false;
};

}  // namespace verlc
