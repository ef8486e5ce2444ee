#include "bench/bench_model.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/rng.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::bench {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
constexpr size_t kNumLetters = sizeof kLetters - 1;

Json smollm2_135m() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"hidden_size", 576},
          {"intermediate_size", 1536},
          {"num_hidden_layers", 30},
          {"num_attention_heads", 9},
          {"num_key_value_heads", 3},
          {"vocab_size", 49152},
          {"max_position_embeddings", 8192},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 100000},
          {"initializer_range", 0.041666666666666664},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"tie_word_embeddings", true},
          {"torch_dtype", "float32"}};
}

Json tiny_model() {
  Json config = smollm2_135m();
  config["hidden_size"] = 64;
  config["intermediate_size"] = 96;
  config["num_hidden_layers"] = 2;
  config["num_attention_heads"] = 4;
  config["num_key_value_heads"] = 2;
  config["vocab_size"] = 256;
  return config;
}

Json read_config(const BenchOptions& options) {
  if (options.model.empty()) return options.tiny ? tiny_model() : smollm2_135m();
  read_model_config(options.model);  // tells what is wrong with it
  Json config = hf::read_json_object(fs::path(options.model) / "config.json");
  config.erase("eos_token_id");
  return config;
}

// Words 0 ... 63 are the letters; the others are only ever sampled.
Json tokenizer(int64_t vocab) {
  Json words = Json::object();
  for (int64_t id = 0; id < vocab; ++id) {
    const bool letter = id < static_cast<int64_t>(kNumLetters);
    words[letter ? std::string(1, kLetters[id]) : fmt::format("<{}>", id)] = id;
  }
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"vocab", words},
            {"merges", Json::array()}}}};
}

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "verlc_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    fail_run({.what = "cannot make a folder", .where = name, .value = {}, .fix = "set TMPDIR"});
  return name;
}

}  // namespace

BenchModel::BenchModel(const BenchOptions& options) {
  const Json config = read_config(options);
  config_ = parse_model_config(config, options.model.empty() ? "bench" : options.model);
  if (config_.vocab < static_cast<int64_t>(kNumLetters))
    fail_input({.what = "the vocabulary is too small to benchmark",
                .where = options.model,
                .value = std::to_string(config_.vocab),
                .fix = "name a model with at least " + std::to_string(kNumLetters) + " words"});
  folder_ = new_folder();
  write_file(folder_ / "config.json", config.dump(1) + "\n");
  write_file(folder_ / "tokenizer.json", tokenizer(config_.vocab).dump());
}

BenchModel::~BenchModel() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string BenchModel::prompt(uint64_t number, int64_t tokens) {
  RandomStream random(1, Purpose::test, number);
  std::string text;
  for (int64_t t = 0; t < tokens; ++t) text += kLetters[random.below(kNumLetters)];
  return text;
}

std::vector<int32_t> BenchModel::prompt_ids(uint64_t number, int64_t tokens) const {
  RandomStream random(2, Purpose::test, number);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < tokens; ++t)
    ids.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(config_.vocab))));
  return ids;
}

}  // namespace verlc::bench
