#include "core/models/model_config.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/hf/model_files.hpp"

namespace verlc {

void model_family_all(ModelFamilies& families);

namespace {

constexpr int64_t kLargest = int64_t{1} << 24;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const ModelFamily* find_family(const ModelFamilies& families, const std::string& architecture) {
  for (const ModelFamily& family : families.list)
    for (const std::string& name : family.architectures)
      if (name == architecture) return &family;
  return nullptr;
}

std::string read_architecture(const hf::Json& json, const std::string& where) {
  const auto list = json.find("architectures");
  if (list == json.end() || !list->is_array() || list->empty() || !list->front().is_string())
    fail_input({.what = "names no architecture",
                .where = where + ": architectures",
                .value = list == json.end() ? "absent" : hf::shown(*list),
                .fix = "supported: " + joined(supported_architectures())});
  return list->front().get<std::string>();
}

// Both schemas: transformers 5 has all in "rope_parameters"; before it "rope_theta" stood beside
// "rope_scaling", whose type was "type" or "rope_type".
RopeConfig read_rope(const hf::Json& json, const ModelConfig& config) {
  RopeConfig rope;
  rope.max_position = config.max_position;
  rope.theta = hf::json_number(json, "rope_theta", config.file, 10000.0, 1.0, 1e12);
  const hf::Json* scaling = hf::json_object(json, "rope_parameters", config.file);
  std::string where = config.file + ": rope_parameters";
  if (scaling == nullptr) {
    scaling = hf::json_object(json, "rope_scaling", config.file);
    where = config.file + ": rope_scaling";
  }
  if (scaling == nullptr) return rope;
  rope.theta = hf::json_number(*scaling, "rope_theta", where, rope.theta, 1.0, 1e12);
  rope.type =
      hf::json_string(*scaling, "rope_type", where, hf::json_string(*scaling, "type", where, "default"));
  const std::vector<std::string>& types = rope_types();
  if (std::find(types.begin(), types.end(), rope.type) == types.end())
    fail_input({.what = "rotary scaling that is not supported",
                .where = where + ": rope_type",
                .value = rope.type,
                .fix = "supported: " + joined(types)});
  if (hf::json_number(*scaling, "partial_rotary_factor", where, 1.0) != 1.0)
    fail_input({.what = "partial rotary embedding is not supported",
                .where = where + ": partial_rotary_factor",
                .value = hf::shown((*scaling)["partial_rotary_factor"]),
                .fix = {}});
  if (rope.type != "default")
    rope.factor = hf::json_number(*scaling, "factor", where, std::nullopt, 1.0, 1e6);
  rope.original_max_position = hf::json_int(
      *scaling, "original_max_position_embeddings", where,
      hf::json_int(json, "original_max_position_embeddings", config.file, config.max_position, 1, kLargest),
      1, kLargest);
  rope.low_freq_factor = hf::json_number(*scaling, "low_freq_factor", where, rope.low_freq_factor, 1e-3, 1e6);
  rope.high_freq_factor =
      hf::json_number(*scaling, "high_freq_factor", where, rope.high_freq_factor, 1e-3, 1e6);
  rope.beta_fast = hf::json_number(*scaling, "beta_fast", where, rope.beta_fast, 1e-3, 1e6);
  rope.beta_slow = hf::json_number(*scaling, "beta_slow", where, rope.beta_slow, 1e-3, 1e6);
  rope.mscale = hf::json_number(*scaling, "mscale", where, 0.0, 0.0, 1e6);
  rope.mscale_all_dim = hf::json_number(*scaling, "mscale_all_dim", where, 0.0, 0.0, 1e6);
  rope.attention_factor = hf::json_number(*scaling, "attention_factor", where, 0.0, 0.0, 1e6);
  rope.truncate = hf::json_bool(*scaling, "truncate", where, true);
  return rope;
}

void read_common(const hf::Json& json, ModelConfig& config) {
  const std::string& where = config.file;
  const auto dimension = [&](const char* key, std::optional<int64_t> fallback = std::nullopt) {
    return hf::json_int(json, key, where, fallback, 1, kLargest);
  };
  config.hidden = dimension("hidden_size");
  config.intermediate = dimension("intermediate_size");
  config.num_layers = hf::json_int(json, "num_hidden_layers", where, std::nullopt, 1, 4096);
  config.num_heads = dimension("num_attention_heads");
  config.num_kv_heads = dimension("num_key_value_heads", config.num_heads);
  config.head_dim = dimension("head_dim", std::max<int64_t>(1, config.hidden / config.num_heads));
  config.vocab = dimension("vocab_size");
  config.max_position = hf::json_int(json, "max_position_embeddings", where, 2048, 1, int64_t{1} << 30);
  config.norm_eps = hf::json_number(json, "rms_norm_eps", where, 1e-6, 0.0, 1.0);
  config.initializer_range = hf::json_number(json, "initializer_range", where, 0.02, 0.0, 100.0);
  config.tied_head = hf::json_bool(json, "tie_word_embeddings", where, false);
  config.dtype =
      hf::json_string(json, "dtype", where, hf::json_string(json, "torch_dtype", where, "float32"));
  config.windows.assign(static_cast<size_t>(config.num_layers), 0);
  config.rope = read_rope(json, config);
  const std::string activation = hf::json_string(json, "hidden_act", where, "silu");
  if (activation != "silu" && activation != "swish")
    fail_input({.what = "activation that is not supported",
                .where = where + ": hidden_act",
                .value = activation,
                .fix = "supported: silu"});
}

void check_shape(const ModelConfig& config) {
  if (config.num_heads % config.num_kv_heads != 0)
    fail_input({.what = "must divide num_attention_heads = " + std::to_string(config.num_heads),
                .where = config.file + ": num_key_value_heads",
                .value = std::to_string(config.num_kv_heads),
                .fix = {}});
  if (config.head_dim % 2 != 0)
    fail_input({.what = "must be even for rotary embedding",
                .where = config.file + ": head_dim",
                .value = std::to_string(config.head_dim),
                .fix = {}});
}

}  // namespace

std::vector<std::string> supported_architectures() {
  ModelFamilies families;
  model_family_all(families);
  std::vector<std::string> names;
  for (const ModelFamily& family : families.list)
    names.insert(names.end(), family.architectures.begin(), family.architectures.end());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int64_t> read_windows(const hf::Json& json, const ModelConfig& config, bool on) {
  std::vector<int64_t> windows(static_cast<size_t>(config.num_layers), 0);
  const int64_t window = hf::json_int(json, "sliding_window", config.file, 0, 0);
  if (window == 0 || !hf::json_bool(json, "use_sliding_window", config.file, on)) return windows;
  const auto types = json.find("layer_types");
  if (types != json.end() && types->is_array()) {
    if (types->size() != windows.size())
      fail_input({.what = "must name num_hidden_layers = " + std::to_string(windows.size()) + " layers",
                  .where = config.file + ": layer_types",
                  .value = std::to_string(types->size()),
                  .fix = {}});
    for (size_t i = 0; i < windows.size(); ++i) windows[i] = (*types)[i] == "sliding_attention" ? window : 0;
    return windows;
  }
  // Older Qwen configs: layers from max_window_layers on slide. Families without the key slide everywhere.
  const int64_t first = hf::json_int(json, "max_window_layers", config.file, 0, 0);
  for (int64_t i = first; i < config.num_layers; ++i) windows[static_cast<size_t>(i)] = window;
  return windows;
}

ModelConfig parse_model_config(const hf::Json& json, const std::string& where) {
  ModelConfig config;
  config.file = where;
  config.architecture = read_architecture(json, where);
  ModelFamilies families;
  model_family_all(families);
  const ModelFamily* family = find_family(families, config.architecture);
  if (family == nullptr)
    fail_input({.what = "architecture that is not supported",
                .where = where + ": architectures",
                .value = config.architecture,
                .fix = "supported: " + joined(supported_architectures())});
  read_common(json, config);
  family->read(json, config);
  check_shape(config);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& folder) {
  const hf::ModelFolder files(folder);
  return parse_model_config(files.config(), files.config_file().string());
}

}  // namespace verlc
