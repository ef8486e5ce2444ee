// The different tokens of a sequence, for the repetition penalty: looked at for every sampled token, so kept
// instead of gathered anew from all tokens so far.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace verlc::rollout {

class SeenTokens {
 public:
  void add(int32_t id) {
    if (known_.insert(id).second) ids_.push_back(id);
  }
  /// Each once, in order of first appearance.
  [[nodiscard]] std::span<const int32_t> ids() const { return ids_; }

 private:
  std::vector<int32_t> ids_;
  std::unordered_set<int32_t> known_;
};

}  // namespace verlc::rollout
