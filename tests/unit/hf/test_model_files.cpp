#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/base/file.hpp"
#include "core/hf/checkpoint_writer.hpp"
#include "core/hf/model_files.hpp"
#include "unit/hf/hf_files.hpp"

namespace verlc::hf {

using test::message_of;
using test::TempFolder;

TEST_CASE("a folder that is no model is told") {
  const TempFolder folder;
  CHECK_THAT(message_of([&] { ModelFolder(folder / "none"); }), Catch::Contains("does not exist"));
  CHECK_THAT(message_of([&] { ModelFolder(folder.path()); }), Catch::Contains("no config.json"));
  test::put(folder / "config.json", "[]");
  CHECK_THAT(message_of([&] { ModelFolder(folder / "config.json"); }), Catch::Contains("must be a folder"));
  const ModelFolder model(folder.path());
  CHECK_THAT(message_of([&] { (void)model.config(); }), Catch::Contains("one JSON object"));
  CHECK_THAT(message_of([&] { (void)model.tokenizer_file(); }), Catch::Contains("no tokenizer.json"));
  test::put(folder / "tokenizer.model", "");
  CHECK_THAT(message_of([&] { (void)model.tokenizer_file(); }), Catch::Contains("only tokenizer.model"));
  test::put(folder / "tokenizer.json", "{}");
  CHECK(model.tokenizer_file() == folder / "tokenizer.json");
  CHECK_FALSE(model.generation_config().has_value());
}

TEST_CASE("end tokens are the union of both configs, a number or a list (B7)") {
  const TempFolder folder;
  const ModelFolder model = [&] {
    test::put(folder / "config.json", R"({"eos_token_id":151645})");
    return ModelFolder(folder.path());
  }();
  CHECK(model.eos_token_ids() == std::vector<int64_t>{151645});
  test::put(folder / "generation_config.json", R"({"eos_token_id":[151645,151643]})");
  CHECK(model.eos_token_ids() == std::vector<int64_t>{151643, 151645});
  test::put(folder / "config.json", R"({"eos_token_id":null,"text_config":{"eos_token_id":[1,106]}})");
  CHECK(model.eos_token_ids() == std::vector<int64_t>{1, 106, 151643, 151645});
  test::put(folder / "generation_config.json", R"({"eos_token_id":"</s>"})");
  CHECK_THAT(message_of([&] { (void)model.eos_token_ids(); }),
             Catch::Contains("generation_config.json: eos_token_id") && Catch::Contains("</s>"));
  test::put(folder / "generation_config.json", R"({"eos_token_id":[-1]})");
  CHECK_THAT(message_of([&] { (void)model.eos_token_ids(); }), Catch::Contains("from 0"));
}

TEST_CASE("the chat template comes from its own file first") {
  const TempFolder folder;
  test::put(folder / "config.json", "{}");
  const ModelFolder model(folder.path());
  CHECK_FALSE(model.chat_template().has_value());
  test::put(folder / "tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"T"},)"
                                              R"({"name":"default","template":"D"}]})");
  CHECK(model.chat_template() == "D");
  test::put(folder / "tokenizer_config.json", R"({"chat_template":"S"})");
  CHECK(model.chat_template() == "S");
  test::put(folder / "chat_template.jinja", "J\n");
  CHECK(model.chat_template() == "J\n");
  std::filesystem::remove(folder / "chat_template.jinja");
  test::put(folder / "tokenizer_config.json", R"({"chat_template":7})");
  CHECK_THAT(message_of([&] { (void)model.chat_template(); }), Catch::Contains("chat_template"));
}

TEST_CASE("model files are copied verbatim, and only the written type changes") {
  const TempFolder from;
  const TempFolder to;
  const std::string config = "{ \"torch_dtype\" : \"bfloat16\",\n\"rms_norm_eps\": 1e-05, \"a\": [1]}";
  const std::string tokenizer = "{\"x\":\"\xC3\xA9\"}\n";
  test::put(from / "config.json", config);
  test::put(from / "tokenizer.json", tokenizer);
  test::put(from / "tokenizer_config.json", "{}");
  test::put(from / "chat_template.jinja", "{{ x }}");
  test::put(from / "generation_config.json", "not checked here");
  test::put(from / "model.safetensors", "no");
  test::put(from / "README.md", "no");
  const std::vector<std::string> names = {"chat_template.jinja", "config.json", "generation_config.json",
                                          "tokenizer.json", "tokenizer_config.json"};
  CHECK(copy_model_files(from.path(), to / "sub", FileType::bf16) == names);
  CHECK(read_file(to / "sub/config.json") == config);
  CHECK(read_file(to / "sub/tokenizer.json") == tokenizer);
  CHECK_FALSE(std::filesystem::exists(to / "sub/model.safetensors"));

  CHECK(copy_model_files(from.path(), to / "sub", FileType::f32) == names);
  const nlohmann::ordered_json changed = nlohmann::ordered_json::parse(read_file(to / "sub/config.json"));
  CHECK(changed ==
        nlohmann::ordered_json::parse(R"({"torch_dtype":"float32","rms_norm_eps":1e-05,"a":[1]})"));

  CHECK(copy_model_files(from.path(), from.path(), FileType::f32).empty());
  CHECK(read_file(from / "config.json") == config);
  CHECK_THAT(message_of([&] { copy_model_files(from / "none", to.path(), FileType::f32); }),
             Catch::Contains("none"));
}

}  // namespace verlc::hf
