#include "core/hf/checkpoint_writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr size_t kChunk = 1 << 16;  // elements converted at a time

void make_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    fail_run({.what = "cannot create the folder: " + failure.message(),
              .where = folder.string(),
              .value = {},
              .fix = {}});
  }
}

// Groups tensors in the given order, as transformers does: a shard is closed when the next tensor would pass
// the limit, and a tensor beyond the limit stands alone.
std::vector<std::vector<TensorSpec>> split(std::vector<TensorSpec> tensors, uint64_t max_bytes) {
  std::vector<std::vector<TensorSpec>> shards;
  std::vector<TensorSpec> open;
  uint64_t open_bytes = 0;
  for (TensorSpec& tensor : tensors) {
    const uint64_t bytes = tensor.bytes();
    if (bytes > max_bytes) {
      shards.push_back({std::move(tensor)});
      continue;
    }
    if (open_bytes + bytes > max_bytes) {
      shards.push_back(std::exchange(open, {}));
      open_bytes = 0;
    }
    open.push_back(std::move(tensor));
    open_bytes += bytes;
  }
  if (!open.empty() || shards.empty()) shards.push_back(std::move(open));
  return shards;
}

// "model-00001-of-00003.safetensors".
bool is_shard_name(std::string_view name) {
  constexpr std::string_view kPattern = "model-#####-of-#####.safetensors";
  return name.size() == kPattern.size() &&
         std::equal(name.begin(), name.end(), kPattern.begin(), [](char found, char wanted) {
           return wanted == '#' ? found >= '0' && found <= '9' : found == wanted;
         });
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, std::vector<TensorSpec> tensors,
                                   uint64_t max_shard_bytes)
    : folder_(std::move(folder)) {
  for (const TensorSpec& tensor : tensors) {
    check(tensor.type == FileType::f32 || tensor.type == FileType::bf16,
          "weights are written as F32 or BF16");
    total_bytes_ += tensor.bytes();
    total_elements_ += static_cast<uint64_t>(num_elements(tensor.shape));
  }
  make_folder(folder_);
  std::vector<std::vector<TensorSpec>> groups = split(std::move(tensors), max_shard_bytes);
  for (size_t i = 0; i < groups.size(); ++i) {
    files_.push_back(
        groups.size() == 1 ? kSingle : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, groups.size()));
    for (const TensorSpec& tensor : groups[i]) {
      check(shard_of_.emplace(tensor.name, i).second, "tensors to be written have names of their own");
    }
    shards_.emplace_back(folder_ / files_.back(), std::move(groups[i]), Metadata{{"format", "pt"}});
  }
}

void CheckpointWriter::write(std::string_view name, std::span<const float> values) {
  write_part(name, 0, values);
}
void CheckpointWriter::write(std::string_view name, std::span<const uint16_t> bf16_values) {
  write_part(name, 0, bf16_values);
}

void CheckpointWriter::write_part(std::string_view name, int64_t begin, std::span<const float> values) {
  const auto shard = shard_of_.find(name);
  check(shard != shard_of_.end() && begin >= 0, "only declared tensors are written");
  SafetensorsWriter& writer = shards_[shard->second];
  const uint64_t first = static_cast<uint64_t>(begin);
  if (writer.type(name) == FileType::f32) {
    writer.write_part(name, first * sizeof(float), values.data(), values.size_bytes());
    return;
  }
  std::vector<uint16_t> rounded(std::min(kChunk, values.size()));
  for (size_t done = 0; done < values.size(); done += kChunk) {
    const size_t part = std::min(kChunk, values.size() - done);
    convert_to_bf16(values.data() + done, part, rounded.data());
    writer.write_part(name, (first + done) * sizeof(uint16_t), rounded.data(), part * sizeof(uint16_t));
  }
}

void CheckpointWriter::write_part(std::string_view name, int64_t begin,
                                  std::span<const uint16_t> bf16_values) {
  const auto shard = shard_of_.find(name);
  check(shard != shard_of_.end() && begin >= 0, "only declared tensors are written");
  SafetensorsWriter& writer = shards_[shard->second];
  const uint64_t first = static_cast<uint64_t>(begin);
  if (writer.type(name) == FileType::bf16) {
    writer.write_part(name, first * sizeof(uint16_t), bf16_values.data(), bf16_values.size_bytes());
    return;
  }
  std::vector<float> wide(std::min(kChunk, bf16_values.size()));
  for (size_t done = 0; done < bf16_values.size(); done += kChunk) {
    const size_t part = std::min(kChunk, bf16_values.size() - done);
    for (size_t i = 0; i < part; ++i) wide[i] = bf16_to_f32(bf16_values[done + i]);
    writer.write_part(name, (first + done) * sizeof(float), wide.data(), part * sizeof(float));
  }
}

void CheckpointWriter::commit() {
  std::optional<AtomicFile> index;
  if (shards_.size() > 1) {
    index.emplace(folder_ / kIndex);
    index->write(index_text());
    index->sync();
  }
  // All data is on the disk before anything gets its name: a disk that fails later can't leave half a model.
  for (SafetensorsWriter& shard : shards_) shard.finish();
  for (SafetensorsWriter& shard : shards_) shard.commit();
  if (index) index->commit();
  remove_older();
}

std::string CheckpointWriter::index_text() const {
  nlohmann::ordered_json root;
  root["metadata"] = {{"total_parameters", total_elements_}, {"total_size", total_bytes_}};
  for (const auto& [name, shard] : shard_of_) root["weight_map"][name] = files_[shard];
  return root.dump(2) + "\n";
}

void CheckpointWriter::remove_older() const {
  std::set<std::string> keep(files_.begin(), files_.end());
  if (files_.size() > 1) keep.insert(kIndex);
  std::error_code ignored;
  std::vector<std::filesystem::path> older;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if ((name == kSingle || name == kIndex || is_shard_name(name)) && !keep.contains(name)) {
      older.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& path : older) {
    if (!std::filesystem::remove(path, ignored)) {
      fail_run({.what = "cannot remove weights of an older checkpoint",
                .where = path.string(),
                .value = {},
                .fix = "remove the file: readers would take it for the model"});
    }
  }
}

}  // namespace verlc::hf
