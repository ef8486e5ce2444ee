#include "core/hf/model_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/file.hpp"

namespace verlc::hf {
namespace {

void add_eos(const Json& object, const std::string& where, std::vector<int64_t>* ids) {
  const std::vector<int64_t> found = json_int_list(object, "eos_token_id", where, 0, INT32_MAX);
  ids->insert(ids->end(), found.begin(), found.end());
}

// A template is a string, or a list of {"name", "template"} of which "default" is meant.
std::optional<std::string> template_of(const Json& object, const std::string& where) {
  const auto found = object.find("chat_template");
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const Json& named : *found) {
      if (json_string(named, "name", where + ": chat_template") == "default") {
        return json_string(named, "template", where + ": chat_template");
      }
    }
  }
  fail_input({.what = "must be a string, or a list of {name, template} with one named \"default\"",
              .where = where + ": chat_template",
              .value = shown(*found),
              .fix = {}});
}

}  // namespace

ModelFolder::ModelFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder_, unknown)) {
    fail_input({.what = "the model folder does not exist",
                .where = folder_.string(),
                .value = {},
                .fix = "give the path of a folder with config.json, tokenizer.json and safetensors"});
  }
  if (!std::filesystem::is_directory(folder_, unknown)) {
    fail_input({.what = "the model must be a folder",
                .where = folder_.string(),
                .value = {},
                .fix = "give the path of a folder with config.json, tokenizer.json and safetensors"});
  }
  if (!has("config.json")) {
    fail_input({.what = "the model folder has no config.json",
                .where = folder_.string(),
                .value = {},
                .fix = "give the folder of a Hugging Face model"});
  }
}

bool ModelFolder::has(std::string_view name) const {
  std::error_code unknown;
  return std::filesystem::is_regular_file(file(name), unknown);
}

Json ModelFolder::config() const {
  return read_json_object(config_file());
}

std::optional<Json> ModelFolder::optional_object(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return read_json_object(file(name));
}

std::optional<Json> ModelFolder::generation_config() const {
  return optional_object("generation_config.json");
}
std::optional<Json> ModelFolder::tokenizer_config() const {
  return optional_object("tokenizer_config.json");
}

std::filesystem::path ModelFolder::tokenizer_file() const {
  if (has("tokenizer.json")) return file("tokenizer.json");
  std::string others;
  for (const char* other : {"tokenizer.model", "vocab.json", "merges.txt", "tiktoken.model"}) {
    if (has(other)) others += (others.empty() ? "" : ", ") + std::string(other);
  }
  fail_input({.what = "the model folder has no tokenizer.json",
              .where = folder_.string(),
              .value = others.empty() ? "" : "only " + others,
              .fix = "save the tokenizer with transformers' fast tokenizer, which writes tokenizer.json"});
}

std::optional<std::string> ModelFolder::chat_template() const {
  if (has("chat_template.jinja")) return read_file(file("chat_template.jinja"));
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const std::optional<Json> object = optional_object(name);
    if (!object) continue;
    std::optional<std::string> found = template_of(*object, file(name).string());
    if (found) return found;
  }
  return std::nullopt;
}

std::vector<int64_t> ModelFolder::eos_token_ids() const {
  std::vector<int64_t> ids;
  const Json main = config();
  const std::string where = config_file().string();
  add_eos(main, where, &ids);
  if (const Json* text = json_object(main, "text_config", where))
    add_eos(*text, where + ": text_config", &ids);
  if (const std::optional<Json> generation = generation_config()) {
    add_eos(*generation, file("generation_config.json").string(), &ids);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace verlc::hf
