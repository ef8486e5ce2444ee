#include "rollout/config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "core/base/error.hpp"
#include "core/hf/json_value.hpp"
#include "core/kernels/cpu/attention.hpp"

namespace verlc::rollout {
namespace {

using hf::Json;

constexpr const char* kWhere = "rollout config";
constexpr int64_t kMost = int64_t{1} << 40;

struct Field {
  std::string key;
  Json schema;  ///< JSON schema with description and default
  std::function<void(const Json& object, RolloutConfig& config)> read;
};

Field text_field(const char* key, std::string RolloutConfig::*member, std::vector<std::string> choices,
                 const char* help) {
  Json schema = {{"type", "string"}, {"description", help}};
  if (!choices.empty()) {
    schema["enum"] = choices;
    schema["default"] = RolloutConfig().*member;
  }
  return {key, schema, [=](const Json& object, RolloutConfig& config) {
            config.*member =
                hf::json_string(object, key, kWhere,
                                choices.empty() ? std::nullopt : std::optional<std::string>(config.*member));
            if (choices.empty() || std::find(choices.begin(), choices.end(), config.*member) != choices.end())
              return;
            std::string list;
            for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
            fail_input({.what = "is none of the choices",
                        .where = std::string(kWhere) + ": " + key,
                        .value = config.*member,
                        .fix = "use one of " + list});
          }};
}

Field int_field(const char* key, int64_t RolloutConfig::*member, int64_t min, const char* help) {
  return {
      key,
      {{"type", "integer"}, {"minimum", min}, {"default", RolloutConfig().*member}, {"description", help}},
      [=](const Json& object, RolloutConfig& config) {
        config.*member = hf::json_int(object, key, kWhere, config.*member, min, kMost);
      }};
}

Field bool_field(const char* key, bool RolloutConfig::*member, const char* help) {
  return {key,
          {{"type", "boolean"}, {"default", RolloutConfig().*member}, {"description", help}},
          [=](const Json& object, RolloutConfig& config) {
            config.*member = hf::json_bool(object, key, kWhere, config.*member);
          }};
}

std::vector<Field> fields() {
  using C = RolloutConfig;
  return {
      text_field("model", &C::model, {},
                 "Hugging Face folder: config.json, tokenizer.json and, to load them, weights"),
      text_field(
          "load_format", &C::load_format, {"auto", "dummy", "none"},
          "auto = the folder's weights, dummy = random ones from seed, none = the first update brings them"),
      text_field(
          "dtype", &C::dtype, {kernels::kPrecisionNames.begin(), kernels::kPrecisionNames.end()},
          "operands of the products: float32, weights in bfloat16, or both in bfloat16; sums and cache are "
          "float32"),
      int_field("block_size", &C::block_size, 16, "positions of a cache page, a multiple of 16"),
      int_field("max_num_seqs", &C::max_num_seqs, 1, "sequences that run at once"),
      int_field("max_num_batched_tokens", &C::max_num_batched_tokens, 1,
                "prompt and decode tokens of one step"),
      int_field("max_model_len", &C::max_model_len, 0,
                "prompt and response together; 0 = max_position_embeddings"),
      int_field("kv_cache_bytes", &C::kv_cache_bytes, 0,
                "0 = max_num_seqs sequences of max_model_len, but at most half of the free memory (4 GiB "
                "when there is "
                "no limit) and never less than one sequence"),
      bool_field("enable_prefix_caching", &C::enable_prefix_caching,
                 "requests with equal prefix value and prompt share its pages and its computation"),
      bool_field("enable_chunked_prefill", &C::enable_chunked_prefill,
                 "feed a prompt over several steps, mixed with decoding"),
      int_field("seed", &C::seed, 0, "of the random weights of load_format dummy"),
  };
}

void refuse_unknown_keys(const Json& object) {
  std::vector<std::string> known;
  for (const Field& field : fields()) known.push_back(field.key);
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> nearest = nearest_names(key, known);
    fail_input({.what = "unknown key",
                .where = std::string(kWhere) + ": " + key,
                .value = hf::shown(value),
                .fix = nearest.empty() ? "" : "did you mean " + nearest.front() + "?"});
  }
}

int64_t pages_for(int64_t positions, int64_t page_size) {
  return (positions + page_size - 1) / page_size;
}

/// Positions that the rotary embedding is made for: linear and yarn scaling stretch the original ones.
int64_t longest_sequence(const ModelConfig& model) {
  const RopeConfig& rope = model.rope;
  if (rope.type != "yarn" && rope.type != "linear") return model.max_position;
  const int64_t original = rope.original_max_position > 0 ? rope.original_max_position : model.max_position;
  return std::max(model.max_position, static_cast<int64_t>(static_cast<double>(original) * rope.factor));
}

}  // namespace

RolloutConfig parse_rollout_config(std::string_view json) {
  const Json object = hf::parse_json_text(json, kWhere);
  if (!object.is_object())
    fail_input({.what = "is not a JSON object", .where = kWhere, .value = hf::shown(object), .fix = {}});
  refuse_unknown_keys(object);
  RolloutConfig config;
  for (const Field& field : fields()) field.read(object, config);
  if (config.block_size % kernels::kKeyGroup != 0 || config.block_size > 4096)
    fail_input({.what = "is not a multiple of 16 of at most 4096",
                .where = std::string(kWhere) + ": block_size",
                .value = std::to_string(config.block_size),
                .fix = "use 16, 32 or 64"});
  return config;
}

std::string describe_rollout() {
  Json properties = Json::object();
  for (const Field& field : fields()) properties[field.key] = field.schema;
  const Json schema = {{"type", "object"},
                       {"properties", properties},
                       {"required", {"model"}},
                       {"additionalProperties", false}};
  return Json{{"config", schema},
              {"devices", {"cpu"}},
              {"dtypes", kernels::kPrecisionNames},
              {"deterministic", true},
              {"concurrent", false}}
      .dump();
}

CachePlan plan_cache(const RolloutConfig& config, const ModelConfig& model, int64_t free_bytes) {
  const int64_t longest = longest_sequence(model);
  if (config.max_model_len > longest)
    fail_input({.what = fmt::format("is beyond the {} positions of the model", longest),
                .where = std::string(kWhere) + ": max_model_len",
                .value = std::to_string(config.max_model_len),
                .fix = "lower it, or give the model a rotary scaling in config.json"});
  CachePlan plan;
  plan.max_model_len = config.max_model_len == 0 ? model.max_position : config.max_model_len;
  plan.page_size = config.block_size;
  plan.page_floats = 2 * model.num_kv_heads * model.head_dim * config.block_size;
  const int64_t bytes = plan.page_bytes(model.num_layers);
  const int64_t one_sequence = pages_for(plan.max_model_len, plan.page_size);
  if (config.kv_cache_bytes > 0) {
    plan.num_pages = config.kv_cache_bytes / bytes;
  } else {
    const int64_t wanted = std::min(config.max_num_seqs, kMost / one_sequence) * one_sequence;
    plan.num_pages = std::max(one_sequence, std::min(wanted, free_bytes / 2 / bytes));
  }
  plan.num_pages = std::min<int64_t>(plan.num_pages, std::numeric_limits<int32_t>::max());
  return plan;
}

}  // namespace verlc::rollout
