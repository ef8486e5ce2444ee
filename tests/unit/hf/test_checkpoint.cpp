#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "core/base/thread_pool.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/hf/safetensors_writer.hpp"
#include "unit/hf/hf_files.hpp"

namespace verlc::hf {
namespace {

using test::message_of;
using test::TempFolder;

struct Stored {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

void write_file_of(const std::filesystem::path& path, const std::vector<Stored>& tensors) {
  std::vector<TensorSpec> specs;
  for (const Stored& tensor : tensors) specs.push_back({tensor.name, tensor.shape, FileType::f32});
  SafetensorsWriter writer(path, specs);
  for (const Stored& tensor : tensors)
    writer.write(tensor.name, tensor.values.data(), 4 * tensor.values.size());
  writer.commit();
}

const std::string kEmbedding = "model.embed_tokens.weight";
const std::string kHead = "lm_head.weight";

// match() of a two-row model against these stored tensors.
std::string match_message(const std::vector<Stored>& stored, bool tied, MatchResult* result = nullptr) {
  const TempFolder folder;
  write_file_of(folder / "model.safetensors", stored);
  const HfCheckpoint checkpoint = HfCheckpoint::open(folder.path());
  std::vector<ExpectedTensor> expected = {{kEmbedding, {2, 2}}, {"model.norm.weight", {2}}};
  if (!tied) expected.push_back({kHead, {2, 2}});
  return message_of([&] {
    MatchResult found = checkpoint.match(expected, {.tied = tied});
    if (result != nullptr) *result = found;
  });
}

const Stored kStoredEmbedding = {kEmbedding, {2, 2}, {1, 2, 3, 4}};
const Stored kStoredNorm = {"model.norm.weight", {2}, {1, 1}};

}  // namespace

TEST_CASE("the weights of a folder are found, or what is there instead is named") {
  const TempFolder folder;
  const auto open = [&] { HfCheckpoint::open(folder.path()); };
  CHECK_THAT(message_of([&] { HfCheckpoint::open(folder / "none"); }),
             Catch::Contains("none") && Catch::Contains("does not exist"));
  test::put(folder / "file", "");
  CHECK_THAT(message_of([&] { HfCheckpoint::open(folder / "file"); }), Catch::Contains("must be a folder"));
  CHECK_THAT(message_of(open), Catch::Contains("neither model.safetensors nor model.safetensors.index.json"));
  test::put(folder / "pytorch_model.bin", "x");
  CHECK_THAT(message_of(open),
             Catch::Contains("only pytorch_model.bin") && Catch::Contains("convert the weights"));
  test::put(folder / "model-00001-of-00002.safetensors", "x");
  CHECK_THAT(message_of(open), Catch::Contains("fetch the index"));
  test::put(folder / "model.safetensors", "x");
  CHECK_THAT(message_of(open), Catch::Contains("model.safetensors: a safetensors file starts with 8 bytes"));
}

TEST_CASE("an index is checked against its files (B12 e)") {
  const TempFolder folder;
  const auto open = [&] { HfCheckpoint::open(folder.path()); };
  const auto index = [&](const std::string& text) {
    test::put(folder / "model.safetensors.index.json", text);
  };
  write_file_of(folder / "one.safetensors", {{"a", {1}, {1}}});
  write_file_of(folder / "two.safetensors", {{"b", {1}, {2}}, {"c", {1}, {3}}});

  index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"}})");
  const HfCheckpoint checkpoint = HfCheckpoint::open(folder.path());
  REQUIRE(checkpoint.tensors().size() == 3);
  CHECK(checkpoint.tensors()[0]->name == "a");
  CHECK(checkpoint.tensors()[2]->name == "c");
  CHECK(checkpoint.total_bytes() == 12);
  float c = 0;
  checkpoint.read_f32("c", {1}, &c);
  CHECK(c == 3);

  index(R"({"weight_map":{"a":"one.safetensors","b":"three.safetensors","c":"four.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("four.safetensors, three.safetensors"));
  index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","d":"two.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("\"d\" in two.safetensors"));
  index(R"({"weight_map":{"b":"one.safetensors","c":"two.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("\"b\" in one.safetensors"));
  index(R"({"weight_map":{"a":"../one.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("without folders") && Catch::Contains("../one.safetensors"));
  index(R"({"weight_map":{"a":7}})");
  CHECK_THAT(message_of(open), Catch::Contains("weight_map: a") && Catch::Contains("must be a string"));
  index(R"({"weight_map":{}})");
  CHECK_THAT(message_of(open), Catch::Contains("names no tensor"));
  index(R"({})");
  CHECK_THAT(message_of(open), Catch::Contains("weight_map") && Catch::Contains("missing"));
  index("{");
  CHECK_THAT(message_of(open), Catch::Contains("index.json:1:2"));
  index(R"({"weight_map":{"a":"one.safetensors","a":"two.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("\"a\"") && Catch::Contains("twice"));

  write_file_of(folder / "two.safetensors", {{"a", {1}, {2}}, {"c", {1}, {3}}});
  index(R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})");
  CHECK_THAT(message_of(open), Catch::Contains("in two files") &&
                                   Catch::Contains("\"a\" in one.safetensors and two.safetensors"));
}

TEST_CASE("a tensor is read as float32 whole, by one thread or many") {
  const TempFolder folder;
  const int64_t rows = 300'000;
  std::vector<uint16_t> bits(static_cast<size_t>(rows));
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i * 7919);
  SafetensorsWriter writer(
      folder / "model.safetensors",
      {{"half", {rows}, FileType::f16}, {"brain", {rows, 1}, FileType::bf16}, {"n", {1}, FileType::i64}});
  writer.write("half", bits.data(), 2 * bits.size());
  writer.write("brain", bits.data(), 2 * bits.size());
  const int64_t n = 1;
  writer.write("n", &n, 8);
  writer.commit();

  const HfCheckpoint checkpoint = HfCheckpoint::open(folder.path());
  CHECK(checkpoint.dtype("half") == FileType::f16);
  ThreadPool pool(2);
  size_t wrong = 0;
  for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&pool)}) {
    std::vector<float> half(bits.size());
    std::vector<float> brain(bits.size());
    checkpoint.read_f32("half", {rows}, half.data(), executor);
    checkpoint.read_f32("brain", {rows, 1}, brain.data(), executor);
    for (size_t i = 0; i < bits.size(); ++i) {
      wrong += std::bit_cast<uint32_t>(half[i]) == std::bit_cast<uint32_t>(f16_to_f32(bits[i])) ? 0 : 1;
      wrong += std::bit_cast<uint32_t>(brain[i]) == uint32_t{bits[i]} << 16 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);

  float out = 0;
  CHECK_THAT(
      message_of([&] {
        checkpoint.read_f32("half", {rows, 1}, &out);
      }),
      Catch::Contains("\"half\"") && Catch::Contains("[300000, 1]") && Catch::Contains("F16 [300000]"));
  CHECK_THAT(message_of([&] { checkpoint.read_f32("n", {1}, &out); }), Catch::Contains("I64 [1]"));
  CHECK_THAT(message_of([&] { checkpoint.read_f32("brian", {1}, &out); }),
             Catch::Contains("no such tensor") && Catch::Contains("near: brain"));
}

TEST_CASE("all missing, extra and misshaped tensors are named at once") {
  const std::string message = match_message({{kEmbedding, {4}, {1, 2, 3, 4}},
                                             {"model.spare", {1}, {0}},
                                             {"model.layers.0.self_attn.rotary_emb.inv_freq", {1}, {0}}},
                                            false);
  CHECK_THAT(message, Catch::Contains("2 missing: model.norm.weight [2], lm_head.weight [2, 2]") &&
                          Catch::Contains("1 extra: model.spare [1]") &&
                          Catch::Contains("1 misshaped: model.embed_tokens.weight is [4], needs [2, 2]") &&
                          !Catch::Contains("inv_freq"));
  MatchResult result;
  CHECK(match_message(
            {kStoredEmbedding, kStoredNorm, {kHead, {2, 2}, {0, 0, 0, 0}}, {"rotary_emb.inv_freq", {1}, {0}}},
            false, &result) == "(no error)");
  CHECK_FALSE(result.head_is_embedding);
  CHECK(result.ignored == std::vector<std::string>{"rotary_emb.inv_freq"});
}

TEST_CASE("a tensor of integers is no weight") {
  const TempFolder folder;
  SafetensorsWriter writer(folder / "model.safetensors", {{"w", {1}, FileType::i32}});
  const int32_t one = 1;
  writer.write("w", &one, 4);
  writer.commit();
  CHECK_THAT(message_of([&] {
               (void)HfCheckpoint::open(folder.path()).match({{"w", {1}}}, {});
             }),
             Catch::Contains("not floating: w is I32"));
}

TEST_CASE("tied heads (B12 a to d)") {
  MatchResult result;
  SECTION("a: tied and no head is an alias") {
    CHECK(match_message({kStoredEmbedding, kStoredNorm}, true, &result) == "(no error)");
    CHECK(result.head_is_embedding);
    CHECK(result.ignored.empty());
  }
  SECTION("b: tied and an equal head is an alias") {
    CHECK(match_message({kStoredEmbedding, kStoredNorm, {kHead, {2, 2}, {1, 2, 3, 4}}}, true, &result) ==
          "(no error)");
    CHECK(result.head_is_embedding);
    CHECK(result.ignored == std::vector<std::string>{kHead});
  }
  SECTION("c: tied and another head is an error with the largest difference") {
    const std::string message =
        match_message({kStoredEmbedding, kStoredNorm, {kHead, {2, 2}, {1, 2.25, 3, 3.5}}}, true);
    CHECK_THAT(message, Catch::Contains("max |difference| = 0.5") && Catch::Contains(kHead) &&
                            Catch::Contains(kEmbedding));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK_THAT(match_message({kStoredEmbedding, kStoredNorm, {kHead, {2, 2}, {1, nan, 3, 4}}}, true),
               Catch::Contains("max |difference| = inf"));
    CHECK_THAT(match_message({kStoredEmbedding, kStoredNorm, {kHead, {4, 1}, {1, 2, 3, 4}}}, true),
               Catch::Contains("lm_head.weight is [4, 1]"));
  }
  SECTION("d: untied and no head is an error, not an alias") {
    CHECK_THAT(match_message({kStoredEmbedding, kStoredNorm}, false),
               Catch::Contains("1 missing: lm_head.weight [2, 2]") &&
                   Catch::Contains("tie_word_embeddings is false"));
  }
}

TEST_CASE("a tied head of another type is compared by value") {
  const TempFolder folder;
  SafetensorsWriter writer(folder / "model.safetensors",
                           {{kEmbedding, {2}, FileType::f32}, {kHead, {2}, FileType::bf16}});
  const std::vector<float> embedding = {1.5f, -2.0f};
  const std::vector<uint16_t> head = {f32_to_bf16(1.5f), f32_to_bf16(-2.0f)};
  writer.write(kEmbedding, embedding.data(), 8);
  writer.write(kHead, head.data(), 4);
  writer.commit();
  CHECK(HfCheckpoint::open(folder.path()).match({{kEmbedding, {2}}}, {.tied = true}).head_is_embedding);
}

TEST_CASE("golden folders of transformers open, single and sharded") {
  const std::filesystem::path golden = std::filesystem::path(VERLC_SOURCE_DIR) / "tests/data/golden";
  const HfCheckpoint sharded = HfCheckpoint::open(golden / "qwen3_bf16_sharded");
  CHECK(sharded.total_bytes() == 46016);
  CHECK(sharded.tensor(kEmbedding).shape == Shape{112, 32});
  CHECK(sharded.dtype(kEmbedding) == FileType::bf16);
  CHECK(HfCheckpoint::open(golden / "mistral").has(kEmbedding));
}

}  // namespace verlc::hf
