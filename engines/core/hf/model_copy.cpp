// copy_model_files: everything of a model folder that is not weights.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/hf/checkpoint_writer.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

constexpr std::array<std::string_view, 13> kNames = {"config.json",
                                                     "generation_config.json",
                                                     "tokenizer.model",
                                                     "tiktoken.model",
                                                     "vocab.json",
                                                     "merges.txt",
                                                     "added_tokens.json",
                                                     "special_tokens_map.json",
                                                     "chat_template.jinja",
                                                     "chat_template.json",
                                                     "processor_config.json",
                                                     "preprocessor_config.json",
                                                     "video_preprocessor_config.json"};

bool is_model_file(std::string_view name) {
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return (name.starts_with("tokenizer") && name.ends_with(".json")) || name.starts_with("chat_template.");
}

// Sets the type in one object of config.json where it has the key; true when something changed.
bool set_type(nlohmann::ordered_json* object, std::string_view type) {
  bool changed = false;
  for (const char* key : {"torch_dtype", "dtype"}) {
    const auto member = object->find(key);
    if (member == object->end() || !member->is_string() || member->get<std::string>() == type) continue;
    *member = std::string(type);
    changed = true;
  }
  return changed;
}

// The bytes of config.json, untouched unless the type must change.
std::string config_with_type(const std::filesystem::path& path, FileType written) {
  std::string text = read_file(path);
  parse_json_text(text, path.string());  // refuses what is malformed, with its place
  nlohmann::ordered_json config = nlohmann::ordered_json::parse(text);
  if (!config.is_object()) return text;
  bool changed = set_type(&config, torch_name(written));
  const auto nested = config.find("text_config");
  if (nested != config.end() && nested->is_object())
    changed = set_type(&*nested, torch_name(written)) || changed;
  return changed ? config.dump(2) + "\n" : text;
}

}  // namespace

std::vector<std::string> copy_model_files(const std::filesystem::path& from, const std::filesystem::path& to,
                                          FileType written) {
  std::error_code failure;
  std::vector<std::string> names;
  if (std::filesystem::equivalent(from, to, failure)) return names;
  std::filesystem::create_directories(to, failure);
  if (failure) {
    fail_run({.what = "cannot create the folder: " + failure.message(),
              .where = to.string(),
              .value = {},
              .fix = {}});
  }
  std::filesystem::directory_iterator entries(from, failure);
  if (failure) {
    fail_input({.what = "cannot list the folder: " + failure.message(),
                .where = from.string(),
                .value = {},
                .fix = {}});
  }
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (is_model_file(name) && entry.is_regular_file(failure)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const bool is_config = name == "config.json";
    write_file(to / name, is_config ? config_with_type(from / name, written) : read_file(from / name));
  }
  return names;
}

}  // namespace verlc::hf
