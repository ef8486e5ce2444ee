#include "bench/model_work.hpp"

#include "core/models/model.hpp"

namespace verlc::bench {

ModelWork::ModelWork(const ModelConfig& config) {
  const Model model(config);
  const auto layers = static_cast<double>(config.num_layers);
  const auto hidden = static_cast<double>(config.hidden);
  const double q = static_cast<double>(config.num_heads * config.head_dim);
  const double kv = static_cast<double>(config.num_kv_heads * config.head_dim);
  const double head = static_cast<double>(config.vocab) * hidden;
  parameters = static_cast<double>(model.num_parameters());
  const double body = parameters - head * (config.tied_head ? 1 : 2);
  row = 2 * head;
  token = 2 * body;
  pair = 4 * layers * q;
  matrix_elements = body + head;
  kv_floats = 2 * layers * kv;
  // Norm, q/k/v, rotation, attention with its log-sum-exp, output, norm, gate and up, their product.
  saved_floats = layers * (4 * hidden + 2 * q + 2 * kv + static_cast<double>(config.num_heads) +
                           3 * static_cast<double>(config.intermediate));
}

double causal_pairs(double first, double last) {
  return (last * (last + 1) - first * (first + 1)) / 2;
}

double forward_flops(const ModelWork& model, const StepShape& step) {
  const double prompt = step.prompt_tokens, all = step.prompt_tokens + step.response_tokens;
  const double prompts = step.shared ? step.prompts : step.sequences();
  return prompts * (prompt * model.token + causal_pairs(0, prompt) * model.pair) +
         step.sequences() *
             (step.response_tokens * (model.token + model.row) + causal_pairs(prompt, all) * model.pair);
}

double generate_flops(const ModelWork& model, const StepShape& step) {
  const double prompt = step.prompt_tokens, fed = step.response_tokens - 1;
  const double prompts = step.shared ? step.prompts : step.sequences();
  return prompts * (prompt * model.token + causal_pairs(0, prompt) * model.pair) +
         step.sequences() * (fed * model.token + step.response_tokens * model.row +
                             causal_pairs(prompt, prompt + fed) * model.pair);
}

double generate_bytes(const ModelWork& model, const StepShape& step, double weight_bytes) {
  const double steps = step.response_tokens - 1;
  const double prompts = step.shared ? step.prompts : step.sequences();
  const double cached = steps * prompts * step.prompt_tokens + step.sequences() * causal_pairs(0, steps);
  return steps * model.matrix_elements * weight_bytes + cached * model.kv_floats * 4;
}

}  // namespace verlc::bench
