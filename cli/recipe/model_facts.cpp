#include "recipe/model_facts.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/file.hpp"

namespace verlc {
namespace {

constexpr uintmax_t max_config_bytes = 16 << 20;
constexpr int64_t largest = int64_t{1} << 40;

std::optional<int64_t> positive(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<int64_t>();
  return value > 0 && value < largest ? std::optional(value) : std::nullopt;
}

// yarn, linear and dynamic scaling lengthen the range by their factor; llama3's config already holds the
// longer one.
std::optional<int64_t> positions(const nlohmann::json& json) {
  const std::optional<int64_t> plain = positive(json, "max_position_embeddings");
  const auto scaling = json.find(json.contains("rope_parameters") ? "rope_parameters" : "rope_scaling");
  if (!plain || scaling == json.end() || !scaling->is_object()) return plain;
  const auto text = [&](const char* key) {
    const auto found = scaling->find(key);
    return found != scaling->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = text("rope_type").empty() ? text("type") : text("rope_type");
  const auto factor = scaling->find("factor");
  const bool extends = type == "yarn" || type == "linear" || type == "dynamic";
  if (!extends || factor == scaling->end() || !factor->is_number()) return plain;
  const std::optional<int64_t> original = positive(*scaling, "original_max_position_embeddings");
  const double scaled = static_cast<double>(original.value_or(*plain)) * factor->get<double>();
  if (!std::isfinite(scaled) || scaled > static_cast<double>(largest)) return plain;
  return std::max(*plain, static_cast<int64_t>(scaled));
}

}  // namespace

std::optional<int64_t> ModelFacts::kv_bytes_per_token() const {
  if (!num_layers || !num_kv_heads || !head_dim) return std::nullopt;
  const double bytes = 8.0 * static_cast<double>(*num_layers) * static_cast<double>(*num_kv_heads) *
                       static_cast<double>(*head_dim);
  return bytes < static_cast<double>(largest) ? std::optional(static_cast<int64_t>(bytes)) : std::nullopt;
}

std::optional<ModelFacts> read_model_facts(const std::filesystem::path& folder, std::string& fault) {
  ModelFacts facts;
  facts.file = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(facts.file, error)) {
    fault = "the folder has no config.json";
    return std::nullopt;
  }
  if (std::filesystem::file_size(facts.file, error) > max_config_bytes || error) {
    fault = "config.json is too large to be a model's configuration";
    return std::nullopt;
  }
  const nlohmann::json json = nlohmann::json::parse(read_file(facts.file), nullptr, false);
  if (!json.is_object()) {
    fault = "config.json is not a JSON object";
    return std::nullopt;
  }
  const auto names = json.find("architectures");
  if (names != json.end() && names->is_array() && !names->empty() && names->front().is_string())
    facts.architecture = names->front().get<std::string>();
  facts.hidden_size = positive(json, "hidden_size");
  facts.num_layers = positive(json, "num_hidden_layers");
  facts.num_heads = positive(json, "num_attention_heads");
  facts.num_kv_heads = positive(json, "num_key_value_heads");
  if (!facts.num_kv_heads) facts.num_kv_heads = facts.num_heads;
  facts.head_dim = positive(json, "head_dim");
  if (!facts.head_dim && facts.hidden_size && facts.num_heads)
    facts.head_dim = *facts.hidden_size / *facts.num_heads;
  facts.vocab_size = positive(json, "vocab_size");
  facts.max_positions = positions(json);
  return facts;
}

}  // namespace verlc
