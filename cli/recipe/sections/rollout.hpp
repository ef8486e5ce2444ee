// [rollout]: sampling, its cache and its batches.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

/// [rollout.val_kwargs]: sampling in validation.
struct ValKwargsSection {
  int64_t n = 1;
  double temperature = 0.0;  ///< 0 = greedy
  double top_p = 1.0;
  int64_t top_k = -1;                     ///< -1 = off
  std::optional<int64_t> max_new_tokens;  ///< after loading: data.max_response_length when not given

  void fields(FieldVisitor& visitor);
  bool operator==(const ValKwargsSection&) const = default;
};

struct RolloutSection {
  std::string name = "rollout";  ///< name of the rollout engine
  int64_t n = 8;                 ///< samples per prompt
  double temperature = 1.0;      ///< > 0; the trainer's log-probs use it too
  int64_t top_k = -1;            ///< -1 = off
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  std::string dtype = "float32";
  int64_t block_size = 16;                ///< tokens of a cache page, a multiple of 16
  int64_t max_num_seqs = 256;             ///< running sequences of a rank
  int64_t max_num_batched_tokens = 8192;  ///< tokens of one step of a rank
  std::optional<int64_t> max_model_len;   ///< always set after loading: prompt + response when not given
  ByteSize kv_cache_memory;               ///< 0 = enough for max_num_seqs
  bool enable_chunked_prefill = true;
  bool enable_prefix_caching = true;  ///< samples of a prompt share its pages
  bool free_cache_engine = true;      ///< the cache sleeps while the actor is updated
  int64_t update_weights_bucket_megabytes = 512;
  ValKwargsSection val_kwargs;

  void fields(FieldVisitor& visitor);
  bool operator==(const RolloutSection&) const = default;
};

}  // namespace verlc
