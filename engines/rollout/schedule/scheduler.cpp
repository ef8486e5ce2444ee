#include "rollout/schedule/scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace verlc::rollout {
namespace {

void require_enough_pages(const SchedulerLimits& limits) {
  const int64_t needed = (limits.max_model_len + limits.page_size - 1) / limits.page_size;
  if (limits.num_pages >= needed) return;
  fail_input({.what = fmt::format(
                  "the key-value cache holds {} pages of {} positions = {} tokens, but one sequence of "
                  "max_model_len = {} needs {} pages",
                  limits.num_pages, limits.page_size, limits.num_pages * limits.page_size,
                  limits.max_model_len, needed),
              .where = "kv_cache_bytes",
              .value = "",
              .fix = "raise kv_cache_bytes, or lower max_model_len"});
}

void require_whole_prompts_fit(const SchedulerLimits& limits) {
  if (limits.chunked_prefill || limits.max_num_batched_tokens >= limits.max_model_len) return;
  fail_input({.what = fmt::format("without chunked prefill a step must hold a whole sequence, but "
                                  "max_num_batched_tokens = {} is below max_model_len = {}",
                                  limits.max_num_batched_tokens, limits.max_model_len),
              .where = "max_num_batched_tokens",
              .value = "",
              .fix = "raise it, or set enable_chunked_prefill = true"});
}

}  // namespace

Scheduler::Scheduler(const SchedulerLimits& limits)
    : limits_(limits), pool_(static_cast<int32_t>(limits.num_pages)) {
  require_enough_pages(limits);
  require_whole_prompts_fit(limits);
}

Scheduler::~Scheduler() = default;

void Scheduler::add(std::unique_ptr<Sequence> sequence) {
  Sequence& added = *sequence;
  added.order = next_order_++;
  added.tokens = added.request.prompt;
  if (limits_.share_prompts) groups_.join(added);
  waiting_.insert(&added);
  const bool inserted = sequences_.emplace(added.request.id, std::move(sequence)).second;
  check(inserted, "ids of unfinished requests are unique");
}

bool Scheduler::decodes(const Sequence& sequence) const {
  return sequence.next_position() + 1 == sequence.num_tokens();
}

const StepPlan& Scheduler::plan() {
  plan_.copies.clear();
  plan_.items.clear();
  plan_.num_tokens = 0;
  const uint64_t preemptions_before = num_preemptions_;
  plan_running(true);
  plan_running(false);
  // What had to give way in this step would be the first to come back.
  if (num_preemptions_ == preemptions_before) plan_waiting();
  check(!plan_.items.empty() || sequences_.empty(), "a step makes progress while a sequence is unfinished");
  return plan_;
}

void Scheduler::plan_running(bool decoding) {
  for (auto it = running_.begin();
       it != running_.end() && plan_.num_tokens < limits_.max_num_batched_tokens;) {
    Sequence& sequence = **it;
    if (decodes(sequence) == decoding) plan_item(sequence);
    // plan_item sends only this sequence or later ones back, so the next one is looked up by rank.
    it = running_.upper_bound(&sequence);
  }
}

void Scheduler::plan_waiting() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (static_cast<int64_t>(running_.size()) >= limits_.max_num_seqs) return;
    if (plan_.num_tokens >= limits_.max_num_batched_tokens) return;
    Sequence& sequence = **it;
    if (!PromptGroups::must_wait(sequence) && !admit(sequence)) return;
    it = waiting_.upper_bound(&sequence);
  }
}

bool Scheduler::admit(Sequence& sequence) {
  const int64_t prompt_pages = (sequence.num_prompt() + limits_.page_size - 1) / limits_.page_size;
  if (sequence.group != nullptr) PromptGroups::fill_cache(*sequence.group, pool_, limits_.page_size);
  if (sequence.group != nullptr && !sequence.group->cache.empty()) {
    sequence.table.share(pool_, sequence.group->cache, prompt_pages);
    sequence.num_cached = sequence.num_prompt();
  }
  const auto give_up = [&] {
    sequence.table.clear(pool_);
    sequence.num_cached = 0;
    return false;
  };
  if (!limits_.chunked_prefill &&
      sequence.num_tokens() - sequence.next_position() > limits_.max_num_batched_tokens - plan_.num_tokens)
    return give_up();
  // Room for all that is known and the token to come: else it would be sent back at once.
  const auto missing = [&] {
    return sequence.table.num_missing(pool_, limits_.page_size, sequence.num_cached,
                                      sequence.num_tokens() + 1);
  };
  const bool alone = running_.empty();
  while (missing() > pool_.num_free()) {
    if (missing() > pool_.num_free() + groups_.num_cached_only(pool_) && !alone) return give_up();
    if (!groups_.evict_one(pool_)) break;
  }
  if (missing() > pool_.num_free() && !alone) return give_up();
  waiting_.erase(&sequence);
  groups_.start(sequence, pool_);
  sequence.running = true;
  running_.insert(&sequence);
  return plan_item(sequence);
}

bool Scheduler::plan_item(Sequence& sequence) {
  StepItem item{&sequence, sequence.next_position(), 0, sequence.num_cached, false};
  const int64_t left = sequence.num_tokens() - item.first_position;
  const int64_t budget = limits_.max_num_batched_tokens - plan_.num_tokens;
  if (left > budget && !limits_.chunked_prefill) return false;
  item.num_tokens = std::min(left, budget);
  item.sample = item.num_tokens == left;
  if (!make_room(sequence, item.first_write, item.first_position + item.num_tokens)) return false;
  sequence.table.make_writable(pool_, limits_.page_size, item.first_write,
                               item.first_position + item.num_tokens, plan_.copies);
  plan_.items.push_back(item);
  plan_.num_tokens += item.num_tokens;
  return true;
}

bool Scheduler::make_room(Sequence& sequence, int64_t begin, int64_t end) {
  while (sequence.table.num_missing(pool_, limits_.page_size, begin, end) > pool_.num_free()) {
    if (groups_.evict_one(pool_)) continue;
    Sequence& last = **running_.rbegin();
    preempt(last);
    if (&last == &sequence) return false;
  }
  return true;
}

void Scheduler::preempt(Sequence& sequence) {
  std::erase_if(plan_.items, [&](const StepItem& item) {
    if (item.sequence == &sequence) plan_.num_tokens -= item.num_tokens;
    return item.sequence == &sequence;
  });
  running_.erase(&sequence);
  groups_.stop(sequence);
  sequence.running = false;
  sequence.table.clear(pool_);
  sequence.num_cached = 0;
  waiting_.insert(&sequence);
  ++num_preemptions_;
}

void Scheduler::advance(const StepItem& item) {
  item.sequence->num_cached = std::max(item.first_write, item.first_position + item.num_tokens);
}

std::unique_ptr<Sequence> Scheduler::remove(Sequence& sequence) {
  const auto found = sequences_.find(sequence.request.id);
  check(found != sequences_.end() && found->second.get() == &sequence,
        "only an unfinished sequence is taken out");
  // The prompt's pages stay for the members that wait.
  if (sequence.group != nullptr && sequence.group->num_waiting > (sequence.running ? 0 : 1))
    PromptGroups::fill_cache(*sequence.group, pool_, limits_.page_size);
  groups_.leave(sequence, pool_);
  (sequence.running ? running_ : waiting_).erase(&sequence);
  sequence.running = false;
  sequence.table.clear(pool_);
  std::unique_ptr<Sequence> removed = std::move(found->second);
  sequences_.erase(found);
  return removed;
}

void Scheduler::preempt_all() {
  while (!running_.empty()) preempt(**running_.rbegin());
  while (groups_.evict_one(pool_)) {
  }
}

Sequence* Scheduler::find(uint64_t id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

void Scheduler::for_each(const std::function<void(Sequence&)>& visit) const {
  for (const auto& [id, sequence] : sequences_) visit(*sequence);
}

}  // namespace verlc::rollout
