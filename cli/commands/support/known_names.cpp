#include "commands/support/known_names.hpp"

namespace verlc {

KnownNames known_names() {
  KnownNames names;
  names.architectures = {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"};
  names.scorers = {"exact", "gsm8k", "math"};
  return names;
}

}  // namespace verlc
