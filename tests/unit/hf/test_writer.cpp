#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/hf/checkpoint_writer.hpp"
#include "core/hf/json_value.hpp"
#include "unit/hf/hf_files.hpp"

namespace verlc::hf {
namespace {

using test::message_of;
using test::TempFolder;

const std::filesystem::path kGolden = std::filesystem::path(VERLC_SOURCE_DIR) / "tests/data/golden";

std::vector<float> ramp(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * step - 3.0f;
  return values;
}

// A child with a limit of 64 KiB on every file, as on a disk that fills up: true when `action` there throws
// one Error(run) that contains `path`.
bool fails_on_a_full_disk(const std::function<void()>& action, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {65536, 65536};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = message_of(action, ErrorKind::run);
    ::_exit(message.find(path) != std::string::npos && message.find("(wrong kind)") == std::string::npos ? 0
                                                                                                         : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("golden files are written again byte for byte as the format's own library wrote them") {
  for (const char* name : {"mistral/model.safetensors", "qwen3/model.safetensors",
                           "qwen3_bf16_sharded/model-00001-of-00002.safetensors"}) {
    const SafetensorsFile source(kGolden / name);
    std::vector<TensorSpec> specs;
    for (const TensorView& tensor : source.tensors())
      specs.push_back({tensor.name, tensor.shape, tensor.type});
    std::reverse(specs.begin(), specs.end());
    const TempFolder folder;
    SafetensorsWriter writer(folder / "copy.safetensors", specs, source.metadata());
    for (const TensorSpec& spec : specs) {
      const TensorView* tensor = source.find(spec.name);
      writer.write(spec.name, tensor->bytes.data(), tensor->bytes.size());
    }
    writer.commit();
    INFO(name);
    const bool equal = read_file(folder / "copy.safetensors") == read_file(kGolden / name);
    CHECK(equal);
  }
}

TEST_CASE("tensors of several types stand in the order of the format's own library") {
  const std::vector<FileType> types = {FileType::f64, FileType::f32,    FileType::f16, FileType::bf16,
                                       FileType::i64, FileType::i32,    FileType::i16, FileType::i8,
                                       FileType::u8,  FileType::boolean};
  const TempFolder folder;
  std::vector<TensorSpec> specs;
  for (const FileType type : types) specs.push_back({std::string(file_type_name(type)), {1}, type});
  SafetensorsWriter writer(folder / "s.safetensors", specs);
  const uint64_t zero = 0;
  for (const TensorSpec& spec : specs) writer.write(spec.name, &zero, spec.bytes());
  writer.commit();
  std::string order;
  const SafetensorsFile file(folder / "s.safetensors");
  for (const TensorView& tensor : file.tensors()) order += tensor.name + " ";
  CHECK(order == "I64 F64 F32 I32 BF16 F16 I16 I8 U8 BOOL ");
}

TEST_CASE("all types, parts in any order, metadata and odd names come back") {
  const TempFolder folder;
  const std::string odd = "a \"quoted\"\n\xC3\xA9";
  const std::vector<int64_t> longs = {1, -2, 3};
  const std::vector<uint8_t> octets = {9, 8, 7, 6, 5};
  const std::vector<float> floats = ramp(10, 0.5f);
  SafetensorsWriter writer(folder / "s.safetensors",
                           {{odd, {5}, FileType::u8},
                            {"l", {3}, FileType::i64},
                            {"f", {2, 5}, FileType::f32},
                            {"none", {0, 4}, FileType::bf16},
                            {"scalar", {}, FileType::i32}},
                           {{"step", "12"}, {"note", "\"x\""}});
  const int32_t scalar = 42;
  writer.write_part("f", 24, floats.data() + 6, 16);
  writer.write("scalar", &scalar, 4);
  writer.write(odd, octets.data(), 5);
  writer.write_part("f", 0, floats.data(), 24);
  writer.write("l", longs.data(), 24);
  CHECK_FALSE(std::filesystem::exists(folder / "s.safetensors"));
  writer.commit();
  CHECK(folder.names() == std::vector<std::string>{"s.safetensors"});

  const SafetensorsFile file(folder / "s.safetensors");
  CHECK(file.metadata() == Metadata{{"step", "12"}, {"note", "\"x\""}});
  CHECK(std::memcmp(file.find("f")->bytes.data(), floats.data(), 40) == 0);
  CHECK(std::memcmp(file.find("l")->bytes.data(), longs.data(), 24) == 0);
  CHECK(std::memcmp(file.find(odd)->bytes.data(), octets.data(), 5) == 0);
  CHECK(std::memcmp(file.find("scalar")->bytes.data(), &scalar, 4) == 0);
  CHECK(file.find("none")->shape == Shape{0, 4});
  CHECK(file.tensors().front().name == "l");  // the widest type first keeps every tensor aligned
  const std::string bytes = read_file(folder / "s.safetensors");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
}

TEST_CASE("without commit nothing is left, and an older file stays whole") {
  const TempFolder folder;
  test::put(folder / "s.safetensors", "older");
  {
    SafetensorsWriter writer(folder / "s.safetensors", {{"f", {4}, FileType::f32}});
    const std::vector<float> part = {1, 2};
    writer.write_part("f", 0, part.data(), 8);
  }
  CHECK(folder.names() == std::vector<std::string>{"s.safetensors"});
  CHECK(read_file(folder / "s.safetensors") == "older");
}

TEST_CASE("a model is written whole or in shards, under the names of transformers") {
  const TempFolder folder;
  const std::vector<float> values = ramp(100'000, 0.37f);
  const std::vector<TensorSpec> specs = {{"big", {1000, 100}, FileType::bf16},
                                         {"c", {100}, FileType::f32},
                                         {"a", {100}, FileType::f32},
                                         {"b", {100}, FileType::f32}};
  const auto write_all = [&](uint64_t limit) {
    CheckpointWriter writer(folder.path(), specs, limit);
    writer.write("a", std::span(values).subspan(0, 100));
    writer.write_part("big", 70'000, std::span(values).subspan(70'000));
    writer.write_part("big", 0, std::span(values).subspan(0, 70'000));
    writer.write("b", std::span(values).subspan(200, 100));
    std::vector<uint16_t> brain(100);
    convert_to_bf16(values.data(), 100, brain.data());
    writer.write("c", std::span<const uint16_t>(brain));
    writer.commit();
    const HfCheckpoint checkpoint = HfCheckpoint::open(folder.path());
    std::vector<float> big(values.size());
    checkpoint.read_f32("big", {1000, 100}, big.data());
    size_t wrong = 0;
    for (size_t i = 0; i < big.size(); ++i) wrong += big[i] == bf16_to_f32(f32_to_bf16(values[i])) ? 0 : 1;
    CHECK(wrong == 0);
    std::vector<float> c(100);
    checkpoint.read_f32("c", {100}, c.data());
    CHECK(c[7] == bf16_to_f32(f32_to_bf16(values[7])));
    checkpoint.read_f32("b", {100}, c.data());
    CHECK(c[7] == values[207]);
  };

  write_all(CheckpointWriter::default_shard_bytes);
  CHECK(folder.names() == std::vector<std::string>{"model.safetensors"});
  CHECK(SafetensorsFile(folder / "model.safetensors").metadata() == Metadata{{"format", "pt"}});

  // A larger tensor stands alone; 400 + 400 bytes fit into 900, a third does not. The older single file goes.
  write_all(900);
  CHECK(folder.names() ==
        std::vector<std::string>{"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                 "model-00003-of-00003.safetensors", "model.safetensors.index.json"});
  CHECK(SafetensorsFile(folder / "model-00002-of-00003.safetensors").tensors().size() == 2);
  const Json index = read_json_file(folder / "model.safetensors.index.json");
  CHECK(index["metadata"]["total_size"] == 201'200);
  CHECK(index["weight_map"]["big"] == "model-00001-of-00003.safetensors");
  CHECK(index["weight_map"]["b"] == "model-00003-of-00003.safetensors");

  write_all(1'000'000);
  CHECK(folder.names() == std::vector<std::string>{"model.safetensors"});
}

TEST_CASE("a full disk gives one error and leaves nothing") {
  const TempFolder folder;
  test::put(folder / "model.safetensors", "older");
  const std::vector<float> values(50'000, 1.0f);
  CHECK(fails_on_a_full_disk(
      [&] {
        CheckpointWriter writer(folder.path(), {{"w", {50'000}, FileType::f32}});
        writer.write("w", values);
        writer.commit();
      },
      "model.safetensors"));
  CHECK(fails_on_a_full_disk([&] { write_file(folder / "config.json", std::string(100'000, ' ')); },
                             "config.json"));
  // The first shard fits, the second does not: none appears.
  CHECK(fails_on_a_full_disk(
      [&] {
        CheckpointWriter writer(
            folder.path(),
            {{"u", {10'000}, FileType::f32}, {"v", {10'000}, FileType::f32}, {"w", {20'000}, FileType::f32}},
            50'000);
      },
      "model-00002-of-00003.safetensors"));
  CHECK(folder.names() == std::vector<std::string>{"model.safetensors"});
  CHECK(read_file(folder / "model.safetensors") == "older");
}

TEST_CASE("a file system that is really full is told at the start") {
  const TempFolder folder;
  if (::mount("verlc_test", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    WARN("skipped: a small tmpfs can't be mounted here (" << std::strerror(errno) << ")");
    return;
  }
  const std::string message = message_of(
      [&] {
        CheckpointWriter(folder.path(), {{"w", {1'000'000}, FileType::f32}});
      },
      ErrorKind::run);
  const std::vector<std::string> left = folder.names();
  ::umount(folder.path().c_str());
  CHECK_THAT(message, Catch::Contains("No space left") && Catch::Contains("model.safetensors") &&
                          Catch::Contains("free some space"));
  CHECK(left.empty());
}

TEST_CASE("a folder that can't be made is told") {
  const TempFolder folder;
  test::put(folder / "file", "");
  CHECK_THAT(message_of([&] { CheckpointWriter(folder / "file/sub", {}); }, ErrorKind::run),
             Catch::Contains("cannot create the folder"));
}

}  // namespace verlc::hf
