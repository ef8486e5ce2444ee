// A vocabulary's strings: token -> id by an open-addressing table, id -> token by an array. All bytes lie in
// one buffer, so that a vocabulary of 200k tokens loads in milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verlc::text {

/// Filled by add(), closed by build(), immutable from then on and safe to read from many threads.
class StringIndex {
 public:
  void add(std::string_view token, int32_t id);

  /// Builds both directions. Error(input) at `where` when two tokens share an id, one token stands twice with
  /// different ids, or an id is negative or absurdly far beyond `base` and the number of tokens.
  void build(const std::string& where, int64_t base = 0);

  /// The id of `token`, or -1.
  [[nodiscard]] int32_t find(std::string_view token) const;
  /// The token of `id`; empty view with null data when there is none.
  [[nodiscard]] std::string_view token(int32_t id) const;
  [[nodiscard]] size_t size() const { return entries_.size(); }
  /// One more than the largest id.
  [[nodiscard]] int32_t end_id() const { return static_cast<int32_t>(by_id_.size()); }

 private:
  struct Entry {
    size_t offset;
    uint32_t size;
    int32_t id;
  };
  [[nodiscard]] std::string_view view(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.offset, entry.size);
  }

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<int32_t> by_id_;    ///< entry of an id, -1 for none
  std::vector<uint32_t> hashes_;  ///< per slot
  std::vector<int32_t> slots_;    ///< entry of a slot, -1 for empty
};

}  // namespace verlc::text
