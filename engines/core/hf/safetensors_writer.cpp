#include "core/hf/safetensors_writer.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.hpp"
#include "core/base/file.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

struct Slot {
  FileType type;
  uint64_t begin;  // in the file
  uint64_t bytes;
  uint64_t written;
};

// Where the format's own library puts a type: wider ones first, so that every tensor is aligned to its
// elements.
int type_rank(FileType type) {
  constexpr std::array<FileType, 10> kOrder = {FileType::i64,  FileType::f64,    FileType::f32, FileType::i32,
                                               FileType::bf16, FileType::f16,    FileType::i16, FileType::i8,
                                               FileType::u8,   FileType::boolean};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), type) - kOrder.begin());
}

std::string header_text(const std::vector<TensorSpec>& sorted, const Metadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + Json(metadata).dump();
  uint64_t offset = 0;
  for (const TensorSpec& tensor : sorted) {
    const uint64_t end = offset + tensor.bytes();
    fmt::format_to(std::back_inserter(text),
                   "{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                   text.size() > 1 ? "," : "", Json(tensor.name).dump(), file_type_name(tensor.type),
                   Json(tensor.shape).dump(), offset, end);
    offset = end;
  }
  text += "}";
  // Data begins at a multiple of 8; the format pads with spaces.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

uint64_t TensorSpec::bytes() const {
  uint64_t total = file_type_size(type);
  for (const int64_t dim : shape) {
    check(dim >= 0 && !__builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total),
          "a tensor to be written has a size");
  }
  return total;
}

struct SafetensorsWriter::State {
  State(std::filesystem::path to, std::vector<TensorSpec> tensors, const Metadata& metadata)
      : path(to), file(std::move(to)) {
    std::sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
      const int left = type_rank(a.type);
      const int right = type_rank(b.type);
      return left != right ? left < right : a.name < b.name;
    });
    const std::string header = header_text(tensors, metadata);
    const uint64_t length = header.size();
    uint64_t offset = sizeof(length) + length;
    for (const TensorSpec& tensor : tensors) {
      const bool is_new = slots.try_emplace(tensor.name, Slot{tensor.type, offset, tensor.bytes(), 0}).second;
      check(is_new && tensor.name != "__metadata__", "tensors to be written have names of their own");
      offset += tensor.bytes();
    }
    file.reserve(offset);
    file.write_at(0, &length, sizeof(length));
    file.write_at(sizeof(length), header.data(), header.size());
  }

  Slot& slot(std::string_view name) {
    const auto found = slots.find(std::string(name));
    check(found != slots.end(), "only declared tensors are written");
    return found->second;
  }

  std::filesystem::path path;
  AtomicFile file;
  std::unordered_map<std::string, Slot> slots;
};

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::vector<TensorSpec> tensors,
                                     const Metadata& metadata)
    : state_(std::make_unique<State>(std::move(path), std::move(tensors), metadata)) {}
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write(std::string_view name, const void* data, uint64_t bytes) {
  check(bytes == state_->slot(name).bytes, "a tensor's data has the size of its shape");
  write_part(name, 0, data, bytes);
}

void SafetensorsWriter::write_part(std::string_view name, uint64_t offset, const void* data, uint64_t bytes) {
  Slot& slot = state_->slot(name);
  check(offset <= slot.bytes && bytes <= slot.bytes - offset, "a part lies inside its tensor");
  state_->file.write_at(slot.begin + offset, data, bytes);
  slot.written += bytes;
}

void SafetensorsWriter::finish() {
  for (const auto& [name, slot] : state_->slots)
    check(slot.written == slot.bytes, "every tensor is written once");
  state_->file.sync();
}

void SafetensorsWriter::commit() {
  finish();
  state_->file.commit();
}

const std::filesystem::path& SafetensorsWriter::path() const {
  return state_->path;
}

FileType SafetensorsWriter::type(std::string_view name) const {
  return state_->slot(name).type;
}

}  // namespace verlc::hf
