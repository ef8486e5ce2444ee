#include "core/hf/checkpoint.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool is_file(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown);
}

// What stands in the folder instead of the weights that we read, for the message.
[[noreturn]] void fail_without_weights(const std::filesystem::path& folder) {
  std::set<std::string> others;
  bool safetensors = false;
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unknown)) {
    const std::string name = entry.path().filename().string();
    const std::string ending = entry.path().extension().string();
    safetensors = safetensors || ending == ".safetensors";
    if (ending == ".bin" || ending == ".pt" || ending == ".pth" || ending == ".gguf" || ending == ".h5" ||
        ending == ".safetensors" || ending == ".ckpt") {
      others.insert(name);
    }
  }
  std::string fix = "give the folder of a Hugging Face model";
  if (safetensors) {
    fix = "rename a single file to model.safetensors, or fetch the index of the shards";
  } else if (!others.empty()) {
    fix = "convert the weights to safetensors: load them with transformers and call save_pretrained";
  }
  fail_input({.what = fmt::format("the model folder has neither {} nor {}", kSingle, kIndex),
              .where = folder.string(),
              .value = others.empty() ? "" : fmt::format("only {}", fmt::join(others, ", ")),
              .fix = fix});
}

// {tensor: file} of an index. File names must be plain: an index is no way out of its folder.
std::map<std::string, std::string> read_weight_map(const std::filesystem::path& index) {
  const Json root = read_json_object(index);
  const Json* weights = json_object(root, "weight_map", index.string());
  if (weights == nullptr) {
    fail_input(
        {.what = "the key is missing", .where = index.string() + ": weight_map", .value = {}, .fix = {}});
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : weights->items()) {
    const std::string file = json_string(*weights, name, index.string() + ": weight_map");
    if (file.empty() || file == "." || file == ".." || file.find('/') != std::string::npos ||
        file.find('\0') != std::string::npos) {
      fail_input({.what = "a shard must be a file name without folders",
                  .where = fmt::format("{}: weight_map: {}", index.string(), quote_text(name)),
                  .value = quote_text(file),
                  .fix = {}});
    }
    files[name] = file;
  }
  if (files.empty()) {
    fail_input({.what = "the index names no tensor",
                .where = index.string() + ": weight_map",
                .value = {},
                .fix = {}});
  }
  return files;
}

[[noreturn]] void fail_incomplete(const std::filesystem::path& index, const std::string& what,
                                  const std::vector<std::string>& names) {
  fail_input({.what = what,
              .where = index.string(),
              .value = fmt::format("{}", fmt::join(names, ", ")),
              .fix = "the download is incomplete or files of two models are mixed; fetch the folder again"});
}

}  // namespace

HfCheckpoint HfCheckpoint::open(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) {
    fail_input({.what = std::filesystem::exists(folder, unknown) ? "the model must be a folder"
                                                                 : "the model folder does not exist",
                .where = folder.string(),
                .value = {},
                .fix = "give the folder of a Hugging Face model"});
  }
  HfCheckpoint checkpoint;
  checkpoint.folder_ = folder;
  if (is_file(folder / kSingle)) {
    checkpoint.open_single(folder / kSingle);
  } else if (is_file(folder / kIndex)) {
    checkpoint.open_shards(folder / kIndex);
  } else {
    fail_without_weights(folder);
  }
  return checkpoint;
}

void HfCheckpoint::open_single(const std::filesystem::path& file) {
  files_.emplace_back(file);
  for (const TensorView& tensor : files_.back().tensors()) add(tensor, file.filename().string());
}

void HfCheckpoint::open_shards(const std::filesystem::path& index) {
  const std::map<std::string, std::string> weight_map = read_weight_map(index);
  std::set<std::string> shards;
  for (const auto& [name, file] : weight_map) shards.insert(file);
  std::vector<std::string> absent;
  for (const std::string& file : shards) {
    if (!is_file(folder_ / file)) absent.push_back(file);
  }
  if (!absent.empty()) fail_incomplete(index, "the index names files that are not in the folder", absent);
  for (const std::string& file : shards) {
    files_.emplace_back(folder_ / file);
    for (const TensorView& tensor : files_.back().tensors()) add(tensor, file);
  }
  std::vector<std::string> lost;
  for (const auto& [name, file] : weight_map) {
    const auto place = places_.find(name);
    if (place == places_.end() || place->second.file != file) {
      lost.push_back(fmt::format("{} in {}", quote_text(name), file));
    }
  }
  if (!lost.empty()) fail_incomplete(index, "the index names tensors that are not in their files", lost);
}

void HfCheckpoint::add(const TensorView& tensor, const std::string& file) {
  const auto [place, is_new] = places_.try_emplace(tensor.name, Place{&tensor, file});
  if (!is_new) {
    fail_input({.what = "the tensor is in two files",
                .where = folder_.string(),
                .value = fmt::format("{} in {} and {}", quote_text(tensor.name), place->second.file, file),
                .fix = "files of two models are mixed; fetch the folder again"});
  }
}

std::vector<const TensorView*> HfCheckpoint::tensors() const {
  std::vector<const TensorView*> all;
  all.reserve(places_.size());
  for (const auto& [name, place] : places_) all.push_back(place.tensor);
  return all;
}

const TensorView* HfCheckpoint::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : place->second.tensor;
}

const TensorView& HfCheckpoint::tensor(const std::string& name) const {
  if (const TensorView* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& [known, place] : places_) names.push_back(known);
  const std::vector<std::string> near = nearest_names(name, names);
  fail_input({.what = "the checkpoint has no such tensor",
              .where = folder_.string(),
              .value = quote_text(name),
              .fix = near.empty() ? "" : fmt::format("near: {}", fmt::join(near, ", "))});
}

uint64_t HfCheckpoint::total_bytes() const {
  uint64_t total = 0;
  for (const auto& [name, place] : places_) total += place.tensor->bytes.size();
  return total;
}

void HfCheckpoint::read_f32(const std::string& name, const Shape& shape, float* out,
                            Executor* executor) const {
  const TensorView& stored = tensor(name);
  if (stored.shape != shape || !is_floating(stored.type)) {
    fail_input({.what = fmt::format("the tensor must be of floating type and shape {}", to_string(shape)),
                .where = fmt::format("{}: {}", folder_.string(), quote_text(name)),
                .value = fmt::format("{} {}", file_type_name(stored.type), to_string(stored.shape)),
                .fix = {}});
  }
  const size_t count = static_cast<size_t>(stored.size());
  const size_t parts = executor == nullptr ? 1 : std::min<size_t>(4 * executor->threads(), 1 + count / 65536);
  const auto convert = [&](int part) {
    const size_t begin = count * static_cast<size_t>(part) / parts;
    const size_t end = count * (static_cast<size_t>(part) + 1) / parts;
    convert_to_f32(stored.type, stored.bytes.data() + begin * file_type_size(stored.type), end - begin,
                   out + begin);
  };
  if (parts == 1) {
    convert(0);
  } else {
    executor->for_each(static_cast<int>(parts), convert);
  }
}

}  // namespace verlc::hf
