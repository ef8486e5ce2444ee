// One request on its way: its tokens so far, and how much of them the cache holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rollout/sample/seen_tokens.hpp"
#include "rollout/sample/stop.hpp"
#include "rollout/schedule/page_pool.hpp"
#include "rollout/schedule/request.hpp"

namespace verlc::rollout {

struct PromptGroup;

struct Sequence {
  Request request;
  uint64_t order = 0;           ///< of submission
  std::vector<int32_t> tokens;  ///< the prompt, then what was sampled
  std::vector<float> logp;      ///< of what was sampled
  StopMatcher stop;
  SeenTokens seen;  ///< of `tokens`, when there is a repetition penalty
  uint64_t weights_first = 0;
  uint64_t weights_last = 0;

  // Kept by the scheduler.
  PageTable table;
  int64_t num_cached = 0;  ///< positions [0, num_cached) are in the cache
  bool running = false;
  PromptGroup* group = nullptr;

  [[nodiscard]] int64_t num_prompt() const { return static_cast<int64_t>(request.prompt.size()); }
  [[nodiscard]] int64_t num_tokens() const { return static_cast<int64_t>(tokens.size()); }
  [[nodiscard]] int64_t num_sampled() const { return static_cast<int64_t>(logp.size()); }
  /// First position to feed: the last token is always fed, since the next one is sampled from it.
  [[nodiscard]] int64_t next_position() const {
    return num_cached < num_tokens() ? num_cached : num_tokens() - 1;
  }
};

/// Larger priority first, then order of submission.
struct ServedBefore {
  bool operator()(const Sequence* a, const Sequence* b) const {
    if (a->request.priority != b->request.priority) return a->request.priority > b->request.priority;
    return a->order < b->order;
  }
};

}  // namespace verlc::rollout
