// The rollout engine: its parts, its states and the loop that turns requests into responses.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "core/services/engine_services.hpp"
#include "core/text/tokenizer.hpp"
#include "rollout/config.hpp"
#include "rollout/counting_allocator.hpp"
#include "rollout/request_queue.hpp"
#include "rollout/runner.hpp"
#include "rollout/sample/sampler.hpp"
#include "rollout/schedule/scheduler.hpp"
#include "rollout/weights.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout {

/// What a model folder says beside its weights.
struct ModelText {
  std::optional<text::Tokenizer> tokenizer;
  std::vector<int32_t> stop_ids;  ///< union of all end-of-sequence ids of the folder
};
ModelText read_model_text(const std::filesystem::path& folder);

/// States. Weights are present, or absent (load_format "none", sleep); the cache likewise; an update is open
/// or not. poll() generates when both are present and no update is open; every call that its state does not
/// allow throws Failure(VERLC_E_STATE) and changes nothing. One call at a time, except submit() and abort().
class Engine {
 public:
  Engine(const plugin::Host& host, const RolloutConfig& config);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// [any] Returns how many were taken.
  size_t submit(std::span<const verlc_request* const> requests);
  /// [any]
  void abort(std::span<const uint64_t> ids);
  /// Appends at most `most` responses. VERLC_OK, VERLC_AGAIN or VERLC_END. A cancelled scope of an unfinished
  /// request throws Failure(VERLC_E_CANCELLED) between steps; the requests stay.
  verlc_status poll(std::vector<std::unique_ptr<Response>>& out, size_t most, int64_t timeout_ns);

  void update_begin(uint64_t version, bool keep_inflight);
  void update_part(std::span<const verlc_named_tensor* const> weights);
  /// commit false: what was sent is dropped. When sleep had dropped the old weights, the update ends all the
  /// same, the engine is without weights, and Failure(VERLC_E_STATE) says so.
  void update_end(bool commit);
  [[nodiscard]] std::string digest() const;
  void sleep(uint32_t parts);
  void wake(uint32_t parts);

  struct Usage {
    uint32_t category = 0;  ///< the host's number
    uint64_t now = 0;
    uint64_t peak = 0;
  };
  [[nodiscard]] std::vector<Usage> memory_usage() const;

 private:
  void take_arrivals();
  void require_serving() const;
  void stop_if_cancelled() const;
  void step();
  void sample_rows(const StepPlan& plan, const Tensor& logits);
  void accept(Sequence& sequence, const SampledToken& sampled);
  void finish(Sequence& sequence, Finish reason);
  void start_over();

  EngineServices services_;
  CountingAllocator memory_;
  Context context_;
  RolloutConfig config_;
  Model model_;
  ModelText text_;
  CachePlan cache_plan_;
  Weights weights_;
  KvCache cache_;
  Runner runner_;
  Scheduler scheduler_;
  RequestQueue queue_;
  std::deque<std::unique_ptr<Response>> ready_;
  std::map<uint64_t, int64_t> cancel_scopes_;  ///< unfinished requests by scope
  std::vector<Sampler> samplers_;              ///< one per thread
  std::vector<SampledToken> sampled_;
  uint64_t version_ = 0;
  bool updating_ = false;
  uint64_t next_version_ = 0;
  uint32_t asleep_ = 0;  ///< VERLC_PART_... bits
  bool step_open_ =
      false;  ///< a step has begun and not ended: after a failure the cache is not to be trusted
};

}  // namespace verlc::rollout
