#include "recipe/sections/rollout.hpp"

namespace verlc {
namespace {

void sampling_fields(RolloutSection& s, FieldVisitor& v) {
  v.field(&s.name, {.key = "name", .help = "rollout engine, by name"});
  v.field(&s.n, {.key = "n", .min = 1, .max = 65536, .help = "samples per prompt (the group of GRPO)"});
  v.field(&s.temperature, {.key = "temperature",
                           .min = 0,
                           .max = 100,
                           .above_min = true,
                           .help = "sampling temperature; old, reference and policy log-probs use the same"});
  v.field(&s.top_k, {.key = "top_k", .min = -1, .help = "-1 = off; must be off in training rollouts"});
  v.field(&s.top_p, {.key = "top_p",
                     .min = 0,
                     .max = 1,
                     .above_min = true,
                     .help = "1 = off; must be off in training rollouts"});
  v.field(&s.min_p,
          {.key = "min_p", .min = 0, .max = 1, .help = "0 = off; must be off in training rollouts"});
  v.field(&s.repetition_penalty, {.key = "repetition_penalty",
                                  .min = 0,
                                  .above_min = true,
                                  .help = "1 = off; must be off in training rollouts"});
}

void engine_fields(RolloutSection& s, FieldVisitor& v) {
  v.field(&s.dtype,
          {.key = "dtype",
           .choices = {"float32", "bfloat16_weights", "bfloat16"},
           .help = "operands of the matrix products, as actor.fsdp_config.dtype; the cache is float32"});
  v.field(&s.block_size,
          {.key = "block_size", .min = 16, .max = 4096, .multiple_of = 16, .help = "tokens of a cache page"});
  v.field(&s.max_num_seqs,
          {.key = "max_num_seqs", .min = 1, .max = 1 << 20, .help = "running sequences of a rank"});
  v.field(&s.max_num_batched_tokens, {.key = "max_num_batched_tokens",
                                      .min = 1,
                                      .max = 1 << 24,
                                      .help = "prompt and decode tokens of one step of a rank"});
  v.field(&s.max_model_len, {.key = "max_model_len",
                             .min = 1,
                             .max = 1 << 25,
                             .unset = "data.max_prompt_length + data.max_response_length",
                             .help = "longest sequence the cache must hold, tokens"});
  v.field(&s.kv_cache_memory,
          {.key = "kv_cache_memory",
           .min = 0,
           .help = "bytes of the cache of a rank, e.g. \"512MiB\"; 0 = enough for max_num_seqs"});
  v.field(&s.enable_chunked_prefill,
          {.key = "enable_chunked_prefill",
           .help = "let a prompt be read over several steps, mixed with decoding"});
  v.field(&s.enable_prefix_caching,
          {.key = "enable_prefix_caching", .help = "samples of one prompt share its cache pages"});
  v.field(&s.free_cache_engine,
          {.key = "free_cache_engine", .help = "free the cache while the actor is updated"});
  v.field(&s.update_weights_bucket_megabytes, {.key = "update_weights_bucket_megabytes",
                                               .min = 1,
                                               .max = 1 << 20,
                                               .help = "largest piece of a weight update, MiB"});
}

}  // namespace

void ValKwargsSection::fields(FieldVisitor& v) {
  v.field(&n, {.key = "n", .min = 1, .max = 65536, .help = "samples per held-out prompt"});
  v.field(&temperature, {.key = "temperature", .min = 0, .max = 100, .help = "0 = greedy"});
  v.field(&top_p, {.key = "top_p", .min = 0, .max = 1, .above_min = true, .help = "1 = off"});
  v.field(&top_k, {.key = "top_k", .min = -1, .help = "-1 = off"});
  v.field(&max_new_tokens, {.key = "max_new_tokens",
                            .min = 1,
                            .max = 1 << 24,
                            .unset = "data.max_response_length",
                            .help = "longest response in validation, tokens"});
}

void RolloutSection::fields(FieldVisitor& v) {
  sampling_fields(*this, v);
  engine_fields(*this, v);
  v.section(val_kwargs, "val_kwargs", "sampling in validation");
}

}  // namespace verlc
