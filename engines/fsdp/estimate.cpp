#include "fsdp/estimate.hpp"

#include <algorithm>

#include "core/kernels/cpu/vocab.hpp"
#include "core/models/model.hpp"
#include "fsdp/flat_unit.hpp"
#include "fsdp/unit_panels.hpp"

namespace verlc::fsdp {
namespace {

constexpr int64_t kFloat = 4;

struct Workload {
  int64_t ranks, tokens, rows, threads;
};

// Floats that one layer keeps per token: inputs of both norms and of every product, q and k before and after
// the rotation, v, the attention's result, gate, up and their product, and the row statistics.
int64_t layer_floats_per_token(const ModelConfig& c) {
  const int64_t q = c.num_heads * c.head_dim, kv = c.num_kv_heads * c.head_dim;
  const int64_t heads_norm = c.qk_norm ? q + kv + c.num_heads + c.num_kv_heads : 0;
  return 4 * c.hidden + 2 * q + 2 * kv + c.num_heads + 3 * c.intermediate + 2 + heads_norm;
}

int64_t activation_bytes(const Config& config, const ModelConfig& c, const Workload& w, bool backward) {
  const int64_t layer = layer_floats_per_token(c) * w.tokens * kFloat;
  const int64_t stream = 2 * c.hidden * w.tokens * kFloat;
  if (!backward) return layer + stream;
  if (config.gradient_checkpointing) return c.num_layers * c.hidden * w.tokens * kFloat + 2 * layer + stream;
  return c.num_layers * layer + layer + stream;
}

/// Panels that are there at one time: of every unit where the weights stay whole, else of the root and one
/// layer.
int64_t panels_in_use(const Config& config, const Model& model, bool keep, bool transposed) {
  if (!config.packs_weights()) return 0;
  int64_t all = 0, root = 0, largest = 0;
  for (const Unit& unit : model.units()) {
    const int64_t bytes = panel_bytes(unit, lookup_table(model), config.precision(), transposed);
    if (&unit == &model.units().front())
      root = bytes;
    else
      largest = std::max(largest, bytes);
    all += bytes;
  }
  return keep ? all : root + largest;
}

}  // namespace

std::string estimate(const Config& config, std::string_view workload_text) {
  const hf::Json json = hf::parse_json_text(workload_text, "workload");
  const auto number = [&](const char* key, int64_t fallback) {
    return hf::json_int(json, key, "workload", fallback, 0);
  };
  const int64_t tokens = number("tokens", 0);
  const Workload w{std::max<int64_t>(1, number("ranks", 1)),
                   tokens - std::min(tokens, number("shared", 0)),  // computed ones
                   number("rows", tokens), std::max<int64_t>(1, number("threads", 1))};
  const Model model(read_model_config(config.model));
  int64_t shards = w.ranks;
  if (config.sharding == Sharding::none) shards = 1;
  if (config.sharding == Sharding::hybrid) shards = std::max<int64_t>(1, config.fsdp_size);
  int64_t shard = 0, whole = 0, largest = 0, root = 0;
  for (const Unit& unit : model.units()) {
    const FlatUnit flat(unit, shards, 0);
    shard += flat.shard_size() * kFloat;
    whole += flat.padded_size() * kFloat;
    if (root == 0)
      root = flat.padded_size() * kFloat;
    else
      largest = std::max(largest, flat.padded_size() * kFloat);
  }
  const bool keep = config.sharding == Sharding::grad_op || !config.reshard_after_forward;
  const int64_t gathered = shards == 1 ? 0
                           : keep      ? whole
                                       : root + largest * (config.forward_prefetch ? 2 : 1);
  const int64_t whole_grads = shards == 1 ? 0 : root + largest;
  const auto logits = static_cast<int64_t>(kernels::vocab_scratch_floats(
                          static_cast<int>(w.threads), w.rows, model.config().hidden, config.precision())) *
                      kFloat;
  hf::Json idle = {{"param", shard}};
  if (config.trainable) {
    idle["grad"] = shard;
    idle["optimizer"] = 2 * shard;
  }
  hf::Json forward = idle;
  const bool keep_panels = shards == 1 || keep;
  const int64_t forward_panels = panels_in_use(config, model, keep_panels, false);
  forward["param"] = shard + gathered + forward_panels;
  forward["logits"] = logits;
  forward["activation"] = activation_bytes(config, model.config(), w, false);
  hf::Json backward = forward;
  backward["activation"] = activation_bytes(config, model.config(), w, true);
  if (config.trainable) {
    backward["param"] = shard + gathered + forward_panels + panels_in_use(config, model, keep_panels, true);
    backward["grad"] = shard + whole_grads;
    backward["comm"] = shards == 1 ? 0 : root / shards;
  }
  const hf::Json phases = {
      {"idle", idle}, {"forward", forward}, {"forward_backward", backward}, {"optimizer_step", idle}};
  return hf::Json{{"phases", phases}}.dump();
}

}  // namespace verlc::fsdp
