#include "core/memory/memory_ledger.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.hpp"

namespace verlc {
namespace {

void book(MemoryUsage& usage, uint64_t bytes, uint64_t blocks) {
  usage.now += bytes;
  usage.blocks += blocks;
  usage.peak = std::max(usage.peak, usage.now);
}

void unbook(MemoryUsage& usage, uint64_t bytes, uint64_t blocks) {
  check(usage.now >= bytes && usage.blocks >= blocks, "memory books never go below zero");
  usage.now -= bytes;
  usage.blocks -= blocks;
}

std::vector<MemoryUsage> largest_first(std::vector<MemoryUsage> usages) {
  std::stable_sort(usages.begin(), usages.end(),
                   [](const MemoryUsage& a, const MemoryUsage& b) { return a.now > b.now; });
  return usages;
}

std::string list_largest(const std::vector<MemoryUsage>& usages, size_t most) {
  std::string text;
  for (const MemoryUsage& usage : largest_first(usages)) {
    if (most-- == 0 || usage.now == 0) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", usage.name, bytes_text(usage.now));
  }
  return text;
}

}  // namespace

MemoryLedger::MemoryLedger() {
  for (size_t i = 0; i < kNumCategories; ++i) intern_category(verlc::category_name(static_cast<Category>(i)));
  scopes_.push_back({.name = "(no scope)"});
  scopes_.push_back({.name = "(elsewhere)"});
}

uint32_t MemoryLedger::intern_category(std::string_view name) {
  for (size_t i = 0; i < categories_.size(); ++i)
    if (categories_[i].name == name) return static_cast<uint32_t>(i);
  categories_.push_back({.name = std::string(name)});
  return static_cast<uint32_t>(categories_.size() - 1);
}

uint32_t MemoryLedger::intern_scope(uint32_t parent, std::string_view name) {
  auto key = std::make_pair(parent, std::string(name));
  const auto found = scope_ids_.find(key);
  if (found != scope_ids_.end()) return found->second;
  const auto id = static_cast<uint32_t>(scopes_.size());
  scopes_.push_back({.name = parent == kNoScope ? key.second : scopes_[parent].name + "/" + key.second});
  scope_ids_.emplace(std::move(key), id);
  return id;
}

void MemoryLedger::add(uint32_t category, uint32_t scope, uint64_t bytes, uint64_t blocks) {
  book(categories_[category], bytes, blocks);
  book(scopes_[scope], bytes, blocks);
  book(total_, bytes, blocks);
}

void MemoryLedger::remove(uint32_t category, uint32_t scope, uint64_t bytes, uint64_t blocks) {
  unbook(categories_[category], bytes, blocks);
  unbook(scopes_[scope], bytes, blocks);
  unbook(total_, bytes, blocks);
}

bool MemoryLedger::holds(uint32_t category, uint32_t scope, uint64_t bytes) const {
  return categories_[category].now >= bytes && scopes_[scope].now >= bytes;
}

std::vector<MemoryUsage> MemoryLedger::scopes() const {
  return largest_first(scopes_);
}

void MemoryLedger::reset_peaks() {
  total_.peak = total_.now;
  for (MemoryUsage& usage : categories_) usage.peak = usage.now;
  for (MemoryUsage& usage : scopes_) usage.peak = usage.now;
}

std::string MemoryLedger::largest_owners(size_t most) const {
  if (total_.now == 0) return "nothing is held";
  return fmt::format("categories {}; scopes {}", list_largest(categories_, most),
                     list_largest(scopes_, most));
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace verlc
