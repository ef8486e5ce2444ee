// A rollout engine behind the C ABI, as the pipeline sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/plugin.hpp"
#include "verlc/plugin.h"

namespace verlc {

/// See verlc_sampling for the meaning of each value.
struct SamplingParameters {
  double temperature = 1.0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  int64_t top_k = 0;
  int64_t max_new_tokens = 128;
  int64_t min_new_tokens = 0;
  std::vector<int32_t> stop_ids;
  std::vector<std::string> stop_strings;
  bool ignore_eos = false;
};

/// See verlc_request. `prompt` and `sampling` are borrowed for submit().
struct RolloutRequest {
  uint64_t id = 0;
  uint64_t seed = 0;
  uint64_t prefix = 0;
  std::span<const int32_t> prompt = {};
  const SamplingParameters* sampling = nullptr;
  int64_t priority = 0;
};

enum class Finish : int32_t {
  stop = VERLC_FINISH_STOP,
  length = VERLC_FINISH_LENGTH,
  aborted = VERLC_FINISH_ABORTED,
  error = VERLC_FINISH_ERROR
};

/// A finished request; its arrays are the caller's.
struct Completion {
  uint64_t id = 0;
  uint64_t weights_first = 0;
  uint64_t weights_last = 0;
  std::vector<int32_t> tokens;
  std::vector<float> logp;  ///< of the sampled tokens
  Finish finish = Finish::error;
};

/// Concerns this rank only. One call at a time, except submit() and abort(), which any thread may call.
class RolloutEngine {
 public:
  RolloutEngine(std::shared_ptr<Plugin> plugin, const std::string& config, const verlc_topology& topology);
  RolloutEngine(const RolloutEngine&) = delete;
  RolloutEngine& operator=(const RolloutEngine&) = delete;
  ~RolloutEngine();

  static std::string estimate(const Plugin& plugin, const std::string& config, const std::string& workload);

  /// Takes the first N requests and returns N; fewer than all means that the queue is full.
  [[nodiscard]] size_t submit(std::span<const RolloutRequest> requests);
  /// Appends at most `most` completions to `out`. done = some came, again = the time is over, end = nothing
  /// is queued or running. No timeout given = waits until something finishes.
  Outcome poll(std::vector<Completion>& out, size_t most = 64,
               std::optional<std::chrono::nanoseconds> timeout = {});
  void abort(std::span<const uint64_t> ids);

  /// Weight update: begin, parts, end. See WeightUpdate for the form that can't be left open.
  void update_begin(uint64_t version, bool keep_inflight);
  void update_part(std::span<const verlc_named_tensor* const> weights);
  void update_end(bool commit);
  /// Digest of the weights held now, as defined in verlc/plugin.hpp.
  [[nodiscard]] std::string digest();
  /// VERLC_PART_PARAM, VERLC_PART_KV.
  void sleep(uint32_t parts);
  void wake(uint32_t parts);
  [[nodiscard]] std::vector<verlc_memory_stat> memory_stats();
  [[nodiscard]] const Plugin& plugin() const { return *plugin_; }

 private:
  Outcome finish(std::string_view call, verlc_status status, const verlc_error& error) const;

  std::shared_ptr<Plugin> plugin_;
  const verlc_rollout_api* api_;
  verlc_rollout* rollout_ = nullptr;
};

/// An update that is rolled back unless commit() was reached.
class WeightUpdate {
 public:
  WeightUpdate(RolloutEngine& engine, uint64_t version, bool keep_inflight = false) : engine_(engine) {
    engine_.update_begin(version, keep_inflight);
  }
  WeightUpdate(const WeightUpdate&) = delete;
  WeightUpdate& operator=(const WeightUpdate&) = delete;
  ~WeightUpdate();
  void part(std::span<const verlc_named_tensor* const> weights) { engine_.update_part(weights); }
  void commit();

 private:
  RolloutEngine& engine_;
  bool open_ = true;
};

}  // namespace verlc
