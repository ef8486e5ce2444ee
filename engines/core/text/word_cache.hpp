// Ids of words seen before. Locked in shards, bounded, and invisible in results.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace verlc::text {

class WordCache {
 public:
  /// Appends the ids of `word` when they are known.
  bool find(std::string_view word, std::vector<int32_t>& ids) const;
  /// Remembers ids unless the word is long or its shard is full.
  void put(std::string_view word, const int32_t* ids, size_t num_ids) const;

 private:
  static constexpr size_t kNumShards = 16;
  static constexpr size_t kMostWords = 4096;  ///< per shard
  static constexpr size_t kMostBytes = 128;   ///< of a word

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<int32_t>, Hash, std::equal_to<>> words;
  };
  [[nodiscard]] Shard& shard_of(std::string_view word) const {
    return shards_[(Hash{}(word) >> 7) % kNumShards];
  }

  mutable std::array<Shard, kNumShards> shards_;
};

}  // namespace verlc::text
