#include "fsdp/config.hpp"

#include <array>
#include <vector>

#include "core/base/error.hpp"

namespace verlc::fsdp {
namespace {

struct Key {
  const char* name;
  const char* type;
  hf::Json fallback;
  const char* help;
};

const std::vector<Key>& keys() {
  static const std::vector<Key> list = {
      {"model", "string", "", "folder with config.json and the weights"},
      {"init", "string", "checkpoint", "checkpoint | random | none (load() brings the weights)"},
      {"seed", "integer", 1, "seed of random weights"},
      {"trainable", "boolean", true, "false: no gradients and no moments"},
      {"sharding", "string", "full", "full | grad_op | hybrid | none"},
      {"fsdp_size", "integer", -1, "ranks of one group when sharding is hybrid"},
      {"reshard_after_forward", "boolean", true, "drop gathered weights after a layer's forward"},
      {"forward_prefetch", "boolean", true, "start gathering the next layer before this one runs"},
      {"dtype", "string", "float32",
       "operands of the matrix products: float32, bfloat16_weights (weights rounded) or bfloat16 (both "
       "rounded)"},
      {"pack_weights", "boolean", true,
       "keep weights packed for the products while they are in use; false: pack on the way (float32 only)"},
      {"gradient_checkpointing", "boolean", false, "keep only layer inputs, repeat the layer in backward"},
      {"beta1", "number", 0.9, "AdamW"},
      {"beta2", "number", 0.999, "AdamW"},
      {"eps", "number", 1e-8, "AdamW"},
      {"weight_decay", "number", 0.01, "AdamW, decoupled"},
  };
  return list;
}

void refuse_unknown_keys(const hf::Json& json) {
  std::vector<std::string> names;
  for (const Key& key : keys()) names.emplace_back(key.name);
  for (const auto& [name, value] : json.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::vector<std::string> near = nearest_names(name, names);
    fail_input({.what = "unknown key",
                .where = "fsdp: " + name,
                .value = hf::shown(value),
                .fix = near.empty() ? "" : "did you mean " + near.front() + "?"});
  }
}

Sharding parse_sharding(const std::string& name) {
  constexpr std::array<std::pair<const char*, Sharding>, 4> names = {{{"full", Sharding::full},
                                                                      {"grad_op", Sharding::grad_op},
                                                                      {"hybrid", Sharding::hybrid},
                                                                      {"none", Sharding::none}}};
  for (const auto& [text, sharding] : names)
    if (name == text) return sharding;
  fail_input({.what = "unknown sharding",
              .where = "fsdp: sharding",
              .value = name,
              .fix = "use full, grad_op, hybrid or none"});
}

}  // namespace

Config parse_config(std::string_view text) {
  const std::string where = "fsdp";
  const hf::Json json = hf::parse_json_text(text, where);
  if (!json.is_object())
    fail_input({.what = "the configuration is a JSON object", .where = where, .value = {}, .fix = {}});
  refuse_unknown_keys(json);
  Config config;
  config.model = hf::json_string(json, "model", where);
  config.init = hf::json_string(json, "init", where, config.init);
  if (config.init != "checkpoint" && config.init != "random" && config.init != "none")
    fail_input({.what = "unknown start",
                .where = "fsdp: init",
                .value = config.init,
                .fix = "use checkpoint, random or none"});
  config.seed = static_cast<uint64_t>(hf::json_int(json, "seed", where, 1));
  config.trainable = hf::json_bool(json, "trainable", where, config.trainable);
  config.sharding = parse_sharding(hf::json_string(json, "sharding", where, "full"));
  config.fsdp_size = hf::json_int(json, "fsdp_size", where, config.fsdp_size, -1);
  config.reshard_after_forward =
      hf::json_bool(json, "reshard_after_forward", where, config.reshard_after_forward);
  config.forward_prefetch = hf::json_bool(json, "forward_prefetch", where, config.forward_prefetch);
  config.gradient_checkpointing =
      hf::json_bool(json, "gradient_checkpointing", where, config.gradient_checkpointing);
  config.dtype = hf::json_string(json, "dtype", where, config.dtype);
  if (!kernels::parse_precision(config.dtype))
    fail_input({.what = "unknown dtype",
                .where = "fsdp: dtype",
                .value = config.dtype,
                .fix = "use float32, bfloat16_weights or bfloat16"});
  config.pack_weights = hf::json_bool(json, "pack_weights", where, config.pack_weights);
  config.beta1 = hf::json_number(json, "beta1", where, config.beta1, 0.0, 1.0);
  config.beta2 = hf::json_number(json, "beta2", where, config.beta2, 0.0, 1.0);
  config.eps = hf::json_number(json, "eps", where, config.eps, 0.0, 1.0);
  config.weight_decay = hf::json_number(json, "weight_decay", where, config.weight_decay, 0.0, 1e6);
  return config;
}

hf::Json config_schema() {
  hf::Json properties = hf::Json::object();
  for (const Key& key : keys())
    properties[key.name] = {{"type", key.type}, {"default", key.fallback}, {"description", key.help}};
  return {{"type", "object"},
          {"properties", properties},
          {"required", {"model"}},
          {"additionalProperties", false}};
}

}  // namespace verlc::fsdp
