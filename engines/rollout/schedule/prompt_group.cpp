#include "rollout/schedule/prompt_group.hpp"

#include <algorithm>

namespace verlc::rollout {

void PromptGroups::join(Sequence& sequence) {
  const Request& request = sequence.request;
  if (request.prefix == 0) return;
  std::list<PromptGroup>& same_prefix = groups_[request.prefix];
  auto found = std::find_if(same_prefix.begin(), same_prefix.end(),
                            [&](const PromptGroup& group) { return group.prompt == request.prompt; });
  if (found == same_prefix.end()) {
    same_prefix.push_back({request.prefix, request.prompt, {}, 0, {}});
    found = std::prev(same_prefix.end());
  }
  ++found->num_waiting;
  sequence.group = &*found;
}

void PromptGroups::leave(Sequence& sequence, PagePool& pool) {
  PromptGroup* group = sequence.group;
  if (group == nullptr) return;
  sequence.group = nullptr;
  if (sequence.running)
    std::erase(group->running, &sequence);
  else
    --group->num_waiting;
  if (group->num_waiting == 0) group->cache.clear(pool);
  if (group->num_waiting > 0 || !group->running.empty()) return;
  const auto same_prefix = groups_.find(group->prefix);
  same_prefix->second.remove_if([&](const PromptGroup& each) { return &each == group; });
  if (same_prefix->second.empty()) groups_.erase(same_prefix);
}

void PromptGroups::start(Sequence& sequence, PagePool& pool) {
  PromptGroup* group = sequence.group;
  if (group == nullptr) return;
  --group->num_waiting;
  group->running.push_back(&sequence);
  if (group->num_waiting == 0) group->cache.clear(pool);
}

void PromptGroups::stop(Sequence& sequence) {
  if (sequence.group == nullptr) return;
  std::erase(sequence.group->running, &sequence);
  ++sequence.group->num_waiting;
}

bool PromptGroups::must_wait(const Sequence& sequence) {
  const PromptGroup* group = sequence.group;
  if (group == nullptr || !group->cache.empty() || group->running.empty()) return false;
  return std::none_of(group->running.begin(), group->running.end(),
                      [](const Sequence* member) { return member->num_cached >= member->num_prompt(); });
}

void PromptGroups::fill_cache(PromptGroup& group, PagePool& pool, int64_t page_size) {
  if (!group.cache.empty()) return;
  const auto num_prompt = static_cast<int64_t>(group.prompt.size());
  for (const Sequence* member : group.running) {
    if (member->num_cached < num_prompt) continue;
    group.cache.share(pool, member->table, (num_prompt + page_size - 1) / page_size);
    return;
  }
}

bool PromptGroups::evict_one(PagePool& pool) {
  for (auto& [prefix, same_prefix] : groups_) {
    for (PromptGroup& group : same_prefix) {
      if (group.cache.empty()) continue;
      group.cache.clear(pool);
      return true;
    }
  }
  return false;
}

int64_t PromptGroups::num_cached_only(const PagePool& pool) const {
  int64_t count = 0;
  for (const auto& [prefix, same_prefix] : groups_)
    for (const PromptGroup& group : same_prefix)
      for (const int32_t page : group.cache.pages())
        if (pool.references(page) == 1) ++count;
  return count;
}

}  // namespace verlc::rollout
