#include "recipe/sections/model.hpp"

namespace verlc {

void ModelSection::fields(FieldVisitor& v) {
  v.field(&path, {.key = "path",
                  .required = true,
                  .path = PathKind::input,
                  .help = "Hugging Face model folder (config.json, safetensors)"});
  v.field(&tokenizer_path, {.key = "tokenizer_path",
                            .path = PathKind::input,
                            .unset = "model.path",
                            .help = "folder with tokenizer.json, when it is not the model's"});
  v.field(&init, {.key = "init",
                  .choices = {"checkpoint", "random"},
                  .help = "read the weights from the folder, or draw them from `seed` by config.json alone"});
  v.field(&custom_chat_template, {.key = "custom_chat_template",
                                  .unset = "the tokenizer's own",
                                  .help = "chat template text (Jinja) used instead of the tokenizer's"});
  v.field(&enable_gradient_checkpointing,
          {.key = "enable_gradient_checkpointing",
           .help = "keep only block inputs in the forward pass and recompute the rest in backward"});
}

}  // namespace verlc
