#include "core/hf/safetensors_file.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/hf/safetensors_header.hpp"

namespace verlc::hf {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the limit of the format's own library

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : map_(path), where_(path.string()) {
  read(map_->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string where)
    : where_(std::move(where)) {
  read(bytes);
}

void SafetensorsFile::read(std::span<const std::byte> bytes) {
  const auto refuse = [this](std::string what, std::string value) {
    fail_input({.what = std::move(what),
                .where = where_,
                .value = std::move(value),
                .fix = "the file is truncated, damaged or no safetensors file; fetch it again"});
  };
  if (bytes.size() < kLengthBytes) {
    refuse("a safetensors file starts with 8 bytes of header length",
           fmt::format("{} bytes in all", bytes.size()));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length > bytes.size() - kLengthBytes) {
    refuse(fmt::format("the header length must be at most {} and fit into the file of {} bytes",
                       kMostHeaderBytes, bytes.size()),
           std::to_string(length));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) {
    refuse(
        "the header must be a JSON object",
        text.empty() ? "empty" : fmt::format("first byte {:#04x}", static_cast<unsigned char>(text.front())));
  }
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + length);
  SafetensorsHeader header = parse_safetensors_header(text, data.size(), where_);
  metadata_ = std::move(header.metadata);
  tensors_.reserve(header.entries.size());
  for (HeaderEntry& entry : header.entries) {
    tensors_.push_back({.name = std::move(entry.name),
                        .type = entry.type,
                        .shape = std::move(entry.shape),
                        .bytes = data.subspan(entry.begin, entry.end - entry.begin)});
  }
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [this](size_t a, size_t b) { return tensors_[a].name < tensors_[b].name; });
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](size_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  return found != by_name_.end() && tensors_[*found].name == name ? &tensors_[*found] : nullptr;
}

}  // namespace verlc::hf
