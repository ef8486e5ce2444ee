#include "recipe/sections/data.hpp"

namespace verlc {
namespace {

void file_fields(DataSection& s, FieldVisitor& v) {
  v.field(&s.train_files, {.key = "train_files",
                           .required = true,
                           .path = PathKind::input,
                           .help = "JSONL file or files with training rows"});
  v.field(&s.val_files, {.key = "val_files",
                         .path = PathKind::input,
                         .unset = "no validation",
                         .help = "JSONL file or files with held-out rows"});
  v.field(&s.train_batch_size, {.key = "train_batch_size",
                                .min = 1,
                                .max = 1 << 24,
                                .help = "prompts (SFT: rows) per step, all ranks"});
  v.field(&s.val_batch_size, {.key = "val_batch_size",
                              .min = 1,
                              .max = 1 << 24,
                              .unset = "the whole held-out set",
                              .help = "prompts generated together in validation"});
  v.field(&s.train_max_samples,
          {.key = "train_max_samples", .min = -1, .help = "use only the first rows; -1 = all"});
  v.field(&s.val_max_samples,
          {.key = "val_max_samples", .min = -1, .help = "use only the first held-out rows; -1 = all"});
}

void length_fields(DataSection& s, FieldVisitor& v) {
  v.field(&s.max_prompt_length,
          {.key = "max_prompt_length", .min = 1, .max = 1 << 24, .help = "longest prompt, tokens"});
  v.field(&s.max_response_length,
          {.key = "max_response_length", .min = 1, .max = 1 << 24, .help = "longest response, tokens"});
  v.field(&s.shuffle, {.key = "shuffle", .help = "draw a new row order each epoch from `data.seed`"});
  v.field(&s.seed, {.key = "seed", .min = 0, .unset = "the recipe's seed", .help = "seed of the row order"});
  v.field(&s.filter_overlong_prompts,
          {.key = "filter_overlong_prompts",
           .help = "drop prompts longer than max_prompt_length; false = they are an error"});
  v.field(&s.truncation,
          {.key = "truncation",
           .choices = {"error"},
           .choice_reason = "a truncated prompt is another task than the one its label answers",
           .help = "what happens to an overlong prompt that is not filtered"});
}

}  // namespace

void DataSection::fields(FieldVisitor& v) {
  file_fields(*this, v);
  length_fields(*this, v);
  v.field(&prompt_key, {.key = "prompt_key", .help = "row key of the prompt: a list of messages, or text"});
  v.field(&response_key, {.key = "response_key", .help = "SFT: row key of the answer text"});
  v.field(&messages_key,
          {.key = "messages_key", .help = "SFT: row key of a whole conversation, used where a row has it"});
  v.field(&apply_chat_template, {.key = "apply_chat_template",
                                 .help = "render prompts by the chat template; false = raw prompt text"});
  v.field(&apply_chat_template_kwargs, {.key = "apply_chat_template_kwargs",
                                        .scalars_only = true,
                                        .help = "variables for the chat template, e.g. enable_thinking"});
}

}  // namespace verlc
