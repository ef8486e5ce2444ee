// The training path as reference: the model over packed sequences, unpacked weights, fused log-probs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/thread_pool.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/memory/heap_allocator.hpp"
#include "core/models/causal_forward.hpp"
#include "core/nn/packed_attention.hpp"
#include "core/nn/rotary_table.hpp"
#include "rollout/schedule/request.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout::test {

class ReferenceModel {
 public:
  /// Weights of the folder, or random ones where it has none.
  explicit ReferenceModel(const std::filesystem::path& folder);

  /// Log-probs of the response's tokens, computed with all sequences in one batch.
  std::vector<std::vector<float>> logp(const std::vector<Request>& requests,
                                       const std::vector<std::vector<int32_t>>& responses);
  /// All weights as borrowed tensors, in name order. bf16: rounded, held by this object.
  std::vector<plugin::NamedTensor> export_weights(bool bf16 = false);
  /// The digest that a trainer reports for export_weights().
  std::string digest(bool bf16 = false);
  /// Adds `delta` to every weight (another version).
  void shift(float delta);
  /// Rounds every weight to bfloat16.
  void round_to_bf16();
  Model& model() { return model_; }

 private:
  HeapAllocator memory_;
  ThreadPool pool_{1};
  Context context_{memory_, pool_};
  Model model_;
  RotaryTable rotary_;
  std::map<std::string, std::vector<uint16_t>> narrow_;
};

/// Requests with prompts from a fixed stream; `groups` of `samples` equal prompts each.
std::vector<Request> make_requests(int64_t vocab, size_t groups, size_t samples, int64_t longest_prompt,
                                   int64_t max_new_tokens);

}  // namespace verlc::rollout::test
