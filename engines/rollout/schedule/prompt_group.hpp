// Requests with the same prompt: the first one computes it, the others wait for it and start from its pages.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "rollout/schedule/sequence.hpp"

namespace verlc::rollout {

struct PromptGroup {
  uint64_t prefix = 0;
  std::vector<int32_t> prompt;
  PageTable cache;  ///< pages of the whole prompt, held while some member waits; empty = not held
  int64_t num_waiting = 0;
  std::vector<Sequence*> running;
};

/// The groups of all unfinished requests. A group lives as long as it has members.
class PromptGroups {
 public:
  /// Joins the group of the request's prefix and prompt as a waiting member; nothing for prefix 0.
  void join(Sequence& sequence);
  void leave(Sequence& sequence, PagePool& pool);
  /// Moves a member between waiting and running. The cache goes when nobody waits for it.
  void start(Sequence& sequence, PagePool& pool);
  void stop(Sequence& sequence);

  /// True when another member is computing the prompt and this one should wait for it.
  [[nodiscard]] static bool must_wait(const Sequence& sequence);
  /// Fills the group's cache from a running member that has the whole prompt in its pages, if there is one.
  /// That member may go on writing behind the prompt in the last of them in this step: nobody reads there,
  /// and every sharer copies the page before it writes.
  static void fill_cache(PromptGroup& group, PagePool& pool, int64_t page_size);
  /// Drops one group's cache to free pages; false when none is held.
  bool evict_one(PagePool& pool);
  /// Pages that no sequence holds, only caches.
  [[nodiscard]] int64_t num_cached_only(const PagePool& pool) const;

 private:
  std::unordered_map<uint64_t, std::list<PromptGroup>> groups_;
};

}  // namespace verlc::rollout
