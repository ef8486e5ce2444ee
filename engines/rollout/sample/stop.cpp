#include "rollout/sample/stop.hpp"

#include <algorithm>

#include "core/base/check.hpp"

namespace verlc::rollout {

StopMatcher::StopMatcher(const Sampling& sampling, std::span<const int32_t> model_stop_ids,
                         std::unique_ptr<TextStream> text)
    : ids_(sampling.stop_ids),
      strings_(sampling.stop_strings),
      text_(std::move(text)),
      min_tokens_(sampling.min_new_tokens) {
  if (!sampling.ignore_eos) ids_.insert(ids_.end(), model_stop_ids.begin(), model_stop_ids.end());
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  std::erase_if(strings_, [](const std::string& each) { return each.empty(); });
  for (const std::string& each : strings_) longest_ = std::max(longest_, each.size());
  check(strings_.empty() || text_ != nullptr, "stop strings need the text of the tokens");
}

bool StopMatcher::push(int32_t token) {
  ++num_tokens_;
  const bool text_ends = !strings_.empty() && completes_string(text_->push(token));
  if (num_tokens_ < min_tokens_) return false;
  return text_ends || std::binary_search(ids_.begin(), ids_.end(), token);
}

bool StopMatcher::completes_string(std::string_view text) {
  if (text.empty()) return false;
  tail_.append(text);
  const bool found = std::any_of(strings_.begin(), strings_.end(), [&](const std::string& each) {
    return tail_.find(each) != std::string::npos;
  });
  if (tail_.size() > longest_ - 1) tail_.erase(0, tail_.size() - (longest_ - 1));
  return found;
}

}  // namespace verlc::rollout
