#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/hf/safetensors_file.hpp"
#include "unit/hf/hf_files.hpp"

namespace verlc::hf {
namespace {

using test::as_bytes;
using test::message_of;
using test::safetensors;

std::string refusal(const std::string& bytes) {
  return message_of([&] { SafetensorsFile(as_bytes(bytes), "a.safetensors"); });
}

// A file of one tensor entry with this text, over `data_bytes` bytes.
std::string refusal_of(const std::string& entry, size_t data_bytes = 8) {
  return refusal(safetensors("{\"w\":" + entry + "}", std::string(data_bytes, '\0')));
}

const std::string kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I32","shape":[],"data_offsets":[8,12]},)"
    R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"e":{"dtype":"U8","shape":[0,3],"data_offsets":[12,12]}})";

}  // namespace

TEST_CASE("a safetensors file gives its tensors, shapes and metadata") {
  const std::string bytes = safetensors(kGood, test::raw<float>({1.5f, -2.0f}) + test::raw<int32_t>({7}));
  const SafetensorsFile file(as_bytes(bytes), "a.safetensors");
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[1].name == "b");
  CHECK(file.tensors()[2].name == "e");
  CHECK(file.metadata().at("format") == "pt");
  const TensorView* a = file.find("a");
  REQUIRE(a != nullptr);
  CHECK(a->type == FileType::f32);
  CHECK(a->shape == Shape{2, 1});
  CHECK(std::memcmp(a->bytes.data(), bytes.data() + bytes.size() - 12, 8) == 0);
  CHECK(file.find("b")->size() == 1);
  CHECK(file.find("e")->bytes.empty());
  CHECK(file.find("c") == nullptr);
}

TEST_CASE("views outlive a move of the file, which is mapped from disk") {
  const test::TempFolder folder;
  test::put(folder / "a.safetensors", safetensors(kGood + "   ", std::string(12, '\1')));
  SafetensorsFile first(folder / "a.safetensors");
  const TensorView* a = first.find("a");
  const SafetensorsFile second = std::move(first);
  CHECK(second.find("a") == a);
  CHECK(a->bytes[0] == std::byte{1});
  CHECK_THAT(message_of([&] { SafetensorsFile(folder / "none"); }), Catch::Contains("none"));
}

TEST_CASE("an empty header is a file without tensors") {
  const std::string bytes = safetensors("{}", "");
  CHECK(SafetensorsFile(as_bytes(bytes), "a").tensors().empty());
}

TEST_CASE("a file cut at any byte, or with any header byte changed, is refused or read, never a crash") {
  const std::string whole = safetensors(kGood, std::string(12, '\0'));
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK_THAT(refusal(whole.substr(0, size)), Catch::Contains("a.safetensors"));
  }
  CHECK(refusal(whole) == "(no error)");
  for (size_t at = 0; at < whole.size() - 12; ++at) {
    for (const char byte : {'\0', '"', '{', '}', '[', ']', ',', '9', '-', '\xff', '\x80'}) {
      std::string changed = whole;
      changed[at] = byte;
      (void)refusal(changed);
    }
  }
}

TEST_CASE("lying lengths and headers that are no JSON object are named") {
  CHECK_THAT(refusal("1234567"),
             Catch::Contains("8 bytes of header length") && Catch::Contains("7 bytes in all"));
  CHECK_THAT(refusal(std::string(8, '\xff')), Catch::Contains("18446744073709551615"));
  CHECK_THAT(refusal(std::string("\x09\0\0\0\0\0\0\0{}", 10)), Catch::Contains("file of 10 bytes"));
  CHECK_THAT(refusal(safetensors("", "")), Catch::Contains("must be a JSON object"));
  CHECK_THAT(refusal(safetensors("[]", "")), Catch::Contains("must be a JSON object"));
  CHECK_THAT(refusal(safetensors(" {}", "")), Catch::Contains("must be a JSON object"));
  CHECK_THAT(refusal(safetensors("{\"a\":", "")), Catch::Contains("malformed JSON"));
  CHECK_THAT(refusal(safetensors("{} x", "")), Catch::Contains("malformed JSON"));
  CHECK_THAT(refusal(safetensors("{\"\xff\":1}", "")), Catch::Contains("malformed JSON"));
  CHECK_THAT(refusal(safetensors("{\"a\":1}", "")), Catch::Contains("\"a\" must be an object"));
  CHECK_THAT(refusal(safetensors("{\"a\":" + std::string(5000, '['), "")),
             Catch::Contains("must be an object"));
  CHECK_THAT(refusal(safetensors(R"({"__metadata__":{"a":1}})", "")), Catch::Contains("strings only"));
  CHECK_THAT(refusal(safetensors(R"({"__metadata__":{"a":"1","a":"2"}})", "")), Catch::Contains("twice"));
  CHECK_THAT(refusal(safetensors(R"({"__metadata__":{},"__metadata__":{}})", "")), Catch::Contains("twice"));
}

TEST_CASE("every rule of a tensor's entry is checked and named") {
  CHECK(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})") == "(no error)");
  CHECK_THAT(refusal_of(R"({"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]})"),
             Catch::Contains("not supported") && Catch::Contains("F8_E4M3") && Catch::Contains("\"w\"") &&
                 Catch::Contains("BF16"));
  CHECK_THAT(refusal_of(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"),
             Catch::Contains("not one of"));
  CHECK_THAT(refusal_of(R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})"), Catch::Contains("dtype"));
  CHECK_THAT(refusal_of(R"({"shape":[2],"data_offsets":[0,8]})"), Catch::Contains("no dtype"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","data_offsets":[0,8]})"), Catch::Contains("no shape"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2]})"), Catch::Contains("no data_offsets"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
             Catch::Contains("twice"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
             Catch::Contains("\"x\""));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
             Catch::Contains("non-negative"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
             Catch::Contains("non-negative"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})"),
             Catch::Contains("non-negative"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"), Catch::Contains("shape"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"),
             Catch::Contains("too large"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
             Catch::Contains("overflows"));
  CHECK_THAT(refusal_of(R"({"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]})", 0),
             Catch::Contains("overflows"));
  // 2^62 * 4 elements of 4 bytes wrap to 0.
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})", 0),
             Catch::Contains("overflows"));
  CHECK_THAT(
      refusal_of(
          R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
          R"("data_offsets":[0,4]})"),
      Catch::Contains("32 dimensions"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
             Catch::Contains("disagree") && Catch::Contains("needs 12 bytes"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
             Catch::Contains("end before"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), Catch::Contains("two numbers"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
             Catch::Contains("two non-negative"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})"),
             Catch::Contains("two non-negative"));
  CHECK_THAT(refusal_of(R"({"dtype":"F32","shape":[2],"data_offsets":[1e999,8]})"),
             Catch::Contains("malformed"));
}

TEST_CASE("tensors fill the data exactly once") {
  const auto two = [](const std::string& first, const std::string& second, size_t data_bytes) {
    return refusal(safetensors(R"({"v":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                                   R"(},"w":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                               std::string(data_bytes, '\0')));
  };
  CHECK(two("[4,8]", "[0,4]", 8) == "(no error)");
  CHECK_THAT(two("[0,4]", "[4,8]", 7), Catch::Contains("beyond the end") && Catch::Contains("\"w\""));
  CHECK_THAT(two("[0,4]", "[4,8]", 9), Catch::Contains("1 bytes behind the last tensor"));
  CHECK_THAT(two("[0,4]", "[3,7]", 7), Catch::Contains("\"w\"") && Catch::Contains("overlaps that of \"v\""));
  CHECK_THAT(two("[0,4]", "[0,4]", 4), Catch::Contains("overlaps"));
  CHECK_THAT(two("[0,4]", "[5,9]", 9), Catch::Contains("bytes [4, 5)"));
  CHECK_THAT(two("[1,5]", "[5,9]", 9), Catch::Contains("bytes [0, 1)"));
  CHECK_THAT(refusal(safetensors(R"({"v":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                 R"("v":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                                 "")),
             Catch::Contains("\"v\"") && Catch::Contains("twice"));
}

}  // namespace verlc::hf
