#include "core/text/string_index.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "core/base/error.hpp"

namespace verlc::text {
namespace {

uint32_t hash_of(std::string_view token) {
  return static_cast<uint32_t>(XXH3_64bits(token.data(), token.size()));
}

}  // namespace

void StringIndex::add(std::string_view token, int32_t id) {
  entries_.push_back({bytes_.size(), static_cast<uint32_t>(token.size()), id});
  bytes_ += token;
}

void StringIndex::build(const std::string& where, int64_t base) {
  const int64_t limit = base + static_cast<int64_t>(entries_.size()) * 64 + 65536;
  int32_t end = 0;
  for (const Entry& entry : entries_) {
    if (entry.id < 0 || entry.id >= limit) {
      fail_input({.what = fmt::format("token id is not between 0 and {}", limit - 1),
                  .where = where,
                  .value = fmt::format("\"{}\": {}", view(entry), entry.id),
                  .fix = "number the tokens from 0 without large gaps"});
    }
    end = std::max(end, entry.id + 1);
  }
  by_id_.assign(static_cast<size_t>(end), -1);
  const size_t num_slots = std::bit_ceil(entries_.size() * 2 + 2);
  slots_.assign(num_slots, -1);
  hashes_.assign(num_slots, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const uint32_t hash = hash_of(view(entry));
    size_t slot = hash & (num_slots - 1);
    bool known = false;
    while (slots_[slot] >= 0) {
      const Entry& other = entries_[static_cast<size_t>(slots_[slot])];
      if (hashes_[slot] == hash && view(other) == view(entry)) {
        known = true;
        break;
      }
      slot = (slot + 1) & (num_slots - 1);
    }
    int32_t& owner = by_id_[static_cast<size_t>(entry.id)];
    if (owner >= 0 || known) {
      fail_input({.what = known ? "a token stands twice in the vocabulary" : "two tokens share one id",
                  .where = where,
                  .value = fmt::format("\"{}\": {}", view(entry), entry.id),
                  .fix = "give each token one id of its own"});
    }
    owner = static_cast<int32_t>(i);
    slots_[slot] = static_cast<int32_t>(i);
    hashes_[slot] = hash;
  }
}

int32_t StringIndex::find(std::string_view token) const {
  if (slots_.empty()) return -1;
  const uint32_t hash = hash_of(token);
  for (size_t slot = hash & (slots_.size() - 1); slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (hashes_[slot] != hash) continue;
    const Entry& entry = entries_[static_cast<size_t>(slots_[slot])];
    if (view(entry) == token) return entry.id;
  }
  return -1;
}

std::string_view StringIndex::token(int32_t id) const {
  if (id < 0 || id >= end_id() || by_id_[static_cast<size_t>(id)] < 0) return {};
  return view(entries_[static_cast<size_t>(by_id_[static_cast<size_t>(id)])]);
}

}  // namespace verlc::text
