// [data]: rows in, prompts out.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct DataSection {
  std::vector<std::string> train_files;   ///< absolute paths of JSONL files
  std::vector<std::string> val_files;     ///< empty = no validation
  int64_t train_batch_size = 1024;        ///< prompts (SFT: rows) per step over all ranks
  std::optional<int64_t> val_batch_size;  ///< prompts; unset = the whole set at once
  int64_t train_max_samples = -1;         ///< first rows kept; -1 = all
  int64_t val_max_samples = -1;
  int64_t max_prompt_length = 512;       ///< tokens
  int64_t max_response_length = 512;     ///< tokens
  bool shuffle = true;                   ///< a new order each epoch
  std::optional<int64_t> seed;           ///< of the order; set to the recipe's seed on loading when not given
  bool filter_overlong_prompts = false;  ///< false: an overlong prompt is an error
  std::string truncation = "error";
  std::string prompt_key = "prompt";      ///< a chat (list of messages) or a string
  std::string response_key = "response";  ///< SFT only
  std::string messages_key = "messages";  ///< SFT only: a whole conversation
  bool apply_chat_template = true;        ///< false: the prompt is raw text
  FreeTable apply_chat_template_kwargs;   ///< scalars handed to the template

  void fields(FieldVisitor& visitor);
  bool operator==(const DataSection&) const = default;
};

}  // namespace verlc
