// The books of an allocator: bytes by category and by scope. Not thread-safe; the allocator holds its lock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/memory/caching_allocator.hpp"

namespace verlc {

class MemoryLedger {
 public:
  static constexpr uint32_t kNoScope = 0;
  static constexpr uint32_t kElsewhere = 1;

  MemoryLedger();
  uint32_t intern_category(std::string_view name);
  /// The scope `name` inside `parent`.
  uint32_t intern_scope(uint32_t parent, std::string_view name);
  [[nodiscard]] size_t num_categories() const { return categories_.size(); }

  void add(uint32_t category, uint32_t scope, uint64_t bytes, uint64_t blocks);
  void remove(uint32_t category, uint32_t scope, uint64_t bytes, uint64_t blocks);
  /// Whether `category` holds at least `bytes` under `scope`'s books.
  [[nodiscard]] bool holds(uint32_t category, uint32_t scope, uint64_t bytes) const;

  [[nodiscard]] uint64_t used() const { return total_.now; }
  [[nodiscard]] uint64_t peak() const { return total_.peak; }
  [[nodiscard]] const std::vector<MemoryUsage>& categories() const { return categories_; }
  /// Largest `now` first.
  [[nodiscard]] std::vector<MemoryUsage> scopes() const;
  [[nodiscard]] const std::string& category_name(uint32_t category) const {
    return categories_[category].name;
  }
  [[nodiscard]] const std::string& scope_name(uint32_t scope) const { return scopes_[scope].name; }
  void reset_peaks();
  /// "param 1.2 MiB, work 3 B; scopes update/layer.3 1.2 MiB": the largest owners, for an error message.
  [[nodiscard]] std::string largest_owners(size_t most) const;

 private:
  MemoryUsage total_;
  std::vector<MemoryUsage> categories_;
  std::vector<MemoryUsage> scopes_;
  std::map<std::pair<uint32_t, std::string>, uint32_t, std::less<>> scope_ids_;
};

/// "1.5 GiB", "12 KiB", "7 bytes".
std::string bytes_text(uint64_t bytes);

}  // namespace verlc
