#include "rollout/estimate.hpp"

#include <algorithm>

#include "core/hf/json_value.hpp"
#include "core/kernels/cpu/gemm.hpp"
#include "core/models/model.hpp"

namespace verlc::rollout {
namespace {

int64_t weight_bytes(const Model& model, kernels::Precision precision) {
  int64_t bytes = 0;
  for (const Unit& unit : model.units()) {
    for (const Parameter& parameter : unit.parameters) {
      if (parameter.shape.size() != 2) {
        bytes += num_elements(parameter.shape) * 4;
        continue;
      }
      const bool lookup = &parameter == &model.embedding() && &parameter != &model.head();
      bytes += lookup ? num_elements(parameter.shape) * (kernels::is_narrow(precision) ? 2 : 4)
                      : kernels::packed_words(precision, parameter.shape[0], parameter.shape[1]) * 4;
    }
  }
  return bytes;
}

/// Widest moment of a layer: input, residual, norm, then gate, up and their product, or q, k, v and the
/// output.
int64_t activation_bytes(const ModelConfig& model, int64_t tokens) {
  const int64_t attention = (3 * model.num_heads + 4 * model.num_kv_heads) * model.head_dim;
  return tokens * (3 * model.hidden + std::max(3 * model.intermediate, attention)) * 4;
}

}  // namespace

std::string estimate_rollout(const RolloutConfig& config, std::string_view workload, int64_t free_bytes) {
  const hf::Json load = hf::parse_json_text(workload.empty() ? "{}" : workload, "workload");
  const int64_t longest = hf::json_int(load, "longest", "workload", 0, 0, int64_t{1} << 30);
  const int64_t sequences =
      hf::json_int(load, "sequences", "workload", config.max_num_seqs, 0, int64_t{1} << 30);
  RolloutConfig used = config;
  if (longest > 0 && used.max_model_len == 0) used.max_model_len = longest;
  const Model model(read_model_config(config.model));
  const ModelConfig& shape = model.config();
  const CachePlan plan = plan_cache(used, shape, free_bytes);
  const int64_t param = weight_bytes(model, config.precision());
  const int64_t cache = plan.num_pages * plan.page_bytes(shape.num_layers);
  const int64_t rows = std::min(config.max_num_seqs, std::max<int64_t>(sequences, 1));
  const hf::Json rollout = {{"param", param},
                            {"kv_cache", cache},
                            {"activation", activation_bytes(shape, config.max_num_batched_tokens)},
                            {"logits", rows * shape.vocab * 4}};
  return hf::Json{{"phases",
                   {{"rollout", rollout},
                    {"update", {{"param", 2 * param}, {"kv_cache", cache}}},
                    {"update_after_sleep", {{"param", param}}},
                    {"sleep", {{"param", 0}, {"kv_cache", 0}}}}}}
      .dump();
}

}  // namespace verlc::rollout
