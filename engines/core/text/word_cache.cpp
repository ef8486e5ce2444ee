#include "core/text/word_cache.hpp"

namespace verlc::text {

bool WordCache::find(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() > kMostBytes) return false;
  Shard& shard = shard_of(word);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.words.find(word);
  if (found == shard.words.end()) return false;
  ids.insert(ids.end(), found->second.begin(), found->second.end());
  return true;
}

void WordCache::put(std::string_view word, const int32_t* ids, size_t num_ids) const {
  if (word.size() > kMostBytes) return;
  Shard& shard = shard_of(word);
  const std::lock_guard lock(shard.mutex);
  if (shard.words.size() < kMostWords) shard.words.emplace(word, std::vector<int32_t>(ids, ids + num_ids));
}

}  // namespace verlc::text
