#include "core/memory/caching_allocator.hpp"

#include <fmt/core.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/memory/arena.hpp"
#include "core/memory/block_cache.hpp"
#include "core/memory/memory_ledger.hpp"

namespace verlc {
namespace {

constexpr uint64_t kCacheSlack = uint64_t{64} << 20;
constexpr size_t kOwnersInMessage = 4;

// The scopes this thread is in, of any allocator.
struct ScopeEntry {
  const void* allocator;
  uint32_t scope;
};
thread_local std::vector<ScopeEntry> thread_scopes;

uint32_t current_scope(const void* allocator) {
  for (size_t i = thread_scopes.size(); i > 0; --i)
    if (thread_scopes[i - 1].allocator == allocator) return thread_scopes[i - 1].scope;
  return MemoryLedger::kNoScope;
}

}  // namespace

struct CachingAllocator::State {
  struct Block {
    size_t bytes;
    size_t size;  // of its class
    uint32_t category;
    uint32_t scope;
  };

  uint64_t limit;
  mutable std::mutex mutex;
  MemoryLedger ledger;
  BlockCache small;
  Arena large;
  std::unordered_map<void*, Block> live;

  // Bytes of large blocks and free pages that may stay.
  size_t target(size_t more) const {
    const uint64_t peak = std::max<uint64_t>(ledger.peak(), ledger.used() + more);
    return peak + peak / 4 + kCacheSlack;
  }
  // A large block; free pages that must go before new ones come are left in `victims`.
  void* take_large(size_t size, size_t bytes, std::vector<AddressRange>& victims) {
    if (void* block = large.take(size)) return block;
    victims = large.evict(size, target(bytes));
    return large.extend(size);
  }
  // Gives pages back to the system, outside the lock.
  void drop(const std::vector<AddressRange>& victims) {
    if (victims.empty()) return;
    for (const AddressRange& victim : victims) {
      ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(victim.begin), victim.size);
      Arena::drop_pages(victim);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    large.dropped(victims);
  }
  [[noreturn]] void fail(const char* what, size_t bytes, uint32_t category, uint32_t scope) const {
    throw Error(ErrorKind::fit,
                {.what = fmt::format("{} for {} of category {} in scope {}: {} used{}, held by {}", what,
                                     bytes_text(bytes), ledger.category_name(category),
                                     ledger.scope_name(scope), bytes_text(ledger.used()),
                                     limit == kNoLimit ? "" : " of the limit " + bytes_text(limit),
                                     ledger.largest_owners(kOwnersInMessage)),
                 .where = "host memory",
                 .value = {},
                 .fix = "use smaller micro-batches or fewer sequences at a time, or more ranks"});
  }
};

CachingAllocator::CachingAllocator(uint64_t limit) : state_(std::make_unique<State>()) {
  state_->limit = limit;
}

CachingAllocator::~CachingAllocator() = default;

void* CachingAllocator::allocate(size_t bytes, Category category) {
  return allocate_tagged(bytes, static_cast<uint32_t>(category), kBlockAlignment);
}

void CachingAllocator::release(void* block, size_t bytes, Category category) noexcept {
  release_tagged(block, bytes, static_cast<uint32_t>(category));
}

void CachingAllocator::push_scope(std::string_view name) {
  const uint32_t parent = current_scope(this);
  uint32_t scope = 0;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    scope = state_->ledger.intern_scope(parent, name);
  }
  thread_scopes.push_back({this, scope});
}

void CachingAllocator::pop_scope() noexcept {
  for (size_t i = thread_scopes.size(); i > 0; --i) {
    if (thread_scopes[i - 1].allocator != this) continue;
    thread_scopes.erase(thread_scopes.begin() + static_cast<std::ptrdiff_t>(i - 1));
    return;
  }
  check(false, "a memory scope is left only after it was entered on this thread");
}

uint32_t CachingAllocator::intern_category(std::string_view name) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ledger.intern_category(name);
}

void* CachingAllocator::allocate_tagged(size_t bytes, uint32_t category, size_t alignment) {
  if (bytes == 0) return nullptr;
  const uint32_t scope = current_scope(this);
  const size_t size = class_size(alignment > kBlockAlignment ? std::max<size_t>(bytes, 4096) : bytes);
  std::vector<AddressRange> victims;
  void* block = nullptr;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    check(category < state_->ledger.num_categories(), "a memory category comes from category()");
    const uint64_t used = state_->ledger.used();
    if (size == 0 || bytes > state_->limit || used > state_->limit - bytes)
      state_->fail("no room", bytes, category, scope);
    block = size < kLargeBlock ? state_->small.take(size) : state_->take_large(size, bytes, victims);
    if (block == nullptr) {
      state_->large.dropped(victims);
      state_->fail("the system has no memory", bytes, category, scope);
    }
    state_->ledger.add(category, scope, bytes, 1);
    state_->live.emplace(block, State::Block{bytes, size, category, scope});
  }
  state_->drop(victims);
  ASAN_UNPOISON_MEMORY_REGION(block, size);
  return block;
}

void CachingAllocator::release_tagged(void* block, size_t bytes, uint32_t category) noexcept {
  if (block == nullptr) return;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto found = state_->live.find(block);
  check(found != state_->live.end(), "a released block is live");
  const State::Block info = found->second;
  check(info.bytes == bytes && info.category == category,
        "a block is released with its own size and category");
  state_->live.erase(found);
  state_->ledger.remove(info.category, info.scope, info.bytes, 1);
  ASAN_POISON_MEMORY_REGION(block, info.size);
  if (info.size < kLargeBlock)
    state_->small.give(block, info.size);
  else
    state_->large.give(block, info.size);
}

void CachingAllocator::account(uint32_t category, int64_t delta_bytes) noexcept {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  check(category < state_->ledger.num_categories(), "a memory category comes from category()");
  if (delta_bytes >= 0) {
    state_->ledger.add(category, MemoryLedger::kElsewhere, static_cast<uint64_t>(delta_bytes), 0);
  } else {
    state_->ledger.remove(category, MemoryLedger::kElsewhere,
                          uint64_t{0} - static_cast<uint64_t>(delta_bytes), 0);
  }
}

uint64_t CachingAllocator::limit() const {
  return state_->limit;
}

uint64_t CachingAllocator::used() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ledger.used();
}

uint64_t CachingAllocator::peak() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ledger.peak();
}

uint64_t CachingAllocator::cached() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->large.cached() + state_->small.cached();
}

std::vector<MemoryUsage> CachingAllocator::by_category() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ledger.categories();
}

std::vector<MemoryUsage> CachingAllocator::by_scope() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ledger.scopes();
}

void CachingAllocator::reset_peaks() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->ledger.reset_peaks();
}

void CachingAllocator::trim() {
  std::vector<AddressRange> victims;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    victims = state_->large.evict(0, 0);
  }
  state_->drop(victims);
}

}  // namespace verlc
