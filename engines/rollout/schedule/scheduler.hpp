// Continuous batching: which tokens of which sequences the next forward pass feeds. Running sequences come
// first, then waiting ones in order of priority and submission; a prompt is fed in chunks when it is longer
// than what is left of the step. When pages run out, the sequence served last goes back to the queue and is
// recomputed later: sampling depends on weights, prompt, seed and token index alone, so nothing of its result
// changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "rollout/schedule/page_pool.hpp"
#include "rollout/schedule/prompt_group.hpp"
#include "rollout/schedule/sequence.hpp"

namespace verlc::rollout {

struct SchedulerLimits {
  int64_t num_pages = 0;
  int64_t page_size = 16;
  int64_t max_num_seqs = 0;            ///< running at once
  int64_t max_num_batched_tokens = 0;  ///< fed in one step
  int64_t max_model_len = 0;           ///< prompt and response
  bool chunked_prefill = true;         ///< false: a prompt is fed whole or not at all
  bool share_prompts = true;
};

/// Feed tokens [first_position, first_position + num_tokens) of a sequence.
struct StepItem {
  Sequence* sequence = nullptr;
  int64_t first_position = 0;
  int64_t num_tokens = 0;
  int64_t first_write = 0;  ///< keys and values before this position are in the cache already
  bool sample = false;      ///< the last of them is the sequence's last token: sample the next one from it
};

struct StepPlan {
  std::vector<PageCopy> copies;  ///< first, in order
  std::vector<StepItem> items;
  int64_t num_tokens = 0;
};

class Scheduler {
 public:
  /// Throws Error(input) with the arithmetic when the pages do not hold one sequence of max_model_len, or
  /// when a whole prompt may not fit into a step.
  explicit Scheduler(const SchedulerLimits& limits);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Puts a sequence into the queue; `order` is given here.
  void add(std::unique_ptr<Sequence> sequence);
  /// The next step; without items only when there is nothing to do. Valid until the next call.
  const StepPlan& plan();
  /// Notes that an item of the plan was carried out (its keys and values are in the cache).
  void advance(const StepItem& item);
  /// Takes a sequence out, wherever it is, and gives its pages back.
  std::unique_ptr<Sequence> remove(Sequence& sequence);
  /// Sends every running sequence back to the queue and empties the cache, for instance when the weights
  /// change.
  void preempt_all();

  /// The unfinished sequence with this id, or null.
  [[nodiscard]] Sequence* find(uint64_t id) const;
  void for_each(const std::function<void(Sequence&)>& visit) const;
  [[nodiscard]] bool empty() const { return sequences_.empty(); }
  [[nodiscard]] size_t size() const { return sequences_.size(); }
  [[nodiscard]] size_t num_running() const { return running_.size(); }
  [[nodiscard]] uint64_t num_preemptions() const { return num_preemptions_; }
  [[nodiscard]] const PagePool& pool() const { return pool_; }

 private:
  using Queue = std::set<Sequence*, ServedBefore>;

  void plan_running(bool decoding);
  void plan_waiting();
  bool admit(Sequence& sequence);
  bool plan_item(Sequence& sequence);
  bool make_room(Sequence& sequence, int64_t begin, int64_t end);
  void preempt(Sequence& sequence);
  [[nodiscard]] bool decodes(const Sequence& sequence) const;

  SchedulerLimits limits_;
  PagePool pool_;
  PromptGroups groups_;
  Queue waiting_;
  Queue running_;
  std::unordered_map<uint64_t, std::unique_ptr<Sequence>> sequences_;  // by request id
  StepPlan plan_;
  uint64_t next_order_ = 0;
  uint64_t num_preemptions_ = 0;
};

}  // namespace verlc::rollout
