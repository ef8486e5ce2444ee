// [model]: which checkpoint is trained.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct ModelSection {
  std::string path;                  ///< Hugging Face folder, absolute after loading
  std::string tokenizer_path;        ///< absolute; the model's folder when not given
  std::string init = "checkpoint";   ///< checkpoint | random
  std::string custom_chat_template;  ///< Jinja text; empty = the tokenizer's own
  bool enable_gradient_checkpointing = true;

  void fields(FieldVisitor& visitor);
  bool operator==(const ModelSection&) const = default;
};

}  // namespace verlc
