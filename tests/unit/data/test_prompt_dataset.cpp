#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "data/length_limit.hpp"
#include "data/prompt_dataset.hpp"
#include "rows.hpp"

using namespace verlc;
using Catch::Contains;

namespace {

std::vector<PromptRow> parse(const std::string& text, const PromptSchema& schema = {}) {
  return parse_prompts(text, "rows.jsonl", schema);
}

std::string message_of(const std::string& text, const PromptSchema& schema = {}) {
  try {
    parse(text, schema);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "no error";
}

const std::string kGood = test::row(R"([{"role":"user","content":"1+0"}])");

}  // namespace

TEST_CASE("a row in verl's schema keeps label and extra_info exactly as written") {
  const std::vector<PromptRow> rows = parse(
      R"({"data_source":"s","ability":"math","prompt":[{"role":"system","content":""},{"role":"user","content":"Zwölf?"}],)"
      R"("reward_model":{"style":"rule","ground_truth" : {"z": 1.10, "a":[12345678901234567890123, null]} },)"
      R"("extra_info":{"split":"train","index":3, "tools_kwargs":{"b":null,"a":1e2}}, "tools":[{"type":"function"}]})"
      "\r\n\n" +
      test::row("\"plain text\""));
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].place.line == 1);
  REQUIRE(rows[0].data_source == "s");
  REQUIRE(rows[0].messages.size() == 2);
  REQUIRE(rows[0].messages[1]["content"] == "Zw\u00f6lf?");
  REQUIRE(rows[0].tools[0]["type"] == "function");
  REQUIRE(rows[0].ground_truth_text == R"({"z": 1.10, "a":[12345678901234567890123, null]})");
  REQUIRE(rows[0].ground_truth["z"] == 1.1);
  REQUIRE(rows[0].extra_info_text == R"({"split":"train","index":3, "tools_kwargs":{"b":null,"a":1e2}})");
  REQUIRE(rows[0].extra_info["index"] == 3);
  REQUIRE(rows[1].place.line == 3);
  REQUIRE(rows[1].messages.is_null());
  REQUIRE(rows[1].text == "plain text");
  REQUIRE(rows[1].ground_truth == "1");
}

TEST_CASE("of equal keys the last counts, in the value and in its text") {
  const std::vector<PromptRow> rows = parse(
      R"({"prompt":"a","prompt":"b","data_source":"s","reward_model":{"ground_truth":1,"ground\u005ftruth":2},"extra_info":{"a":1},"extra_info":{"a":2}})");
  REQUIRE(rows[0].text == "b");
  REQUIRE(rows[0].ground_truth == 2);
  REQUIRE(rows[0].ground_truth_text == "2");
  REQUIRE(rows[0].extra_info_text == R"({"a":2})");
}

TEST_CASE("each fault names file, line and key") {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {R"({"data_source":"s","reward_model":{"ground_truth":1}})", "rows.jsonl:2: prompt: is missing"},
      {R"({"prompt":[],"data_source":"s"})", "rows.jsonl:2: prompt: must be a non-empty list of messages"},
      {R"({"prompt":7,"data_source":"s"})", "rows.jsonl:2: prompt: must be"},
      {R"({"prompt":"","data_source":"s"})", "rows.jsonl:2: prompt: must not be empty"},
      {R"({"prompt":[{"content":"x"}]})", "rows.jsonl:2: prompt[0].role: is missing"},
      {R"({"prompt":[{"role":"user","content":"x"},{"role":"user"}]})",
       "rows.jsonl:2: prompt[1].content: is missing"},
      {R"({"prompt":[{"role":"user","content":[{"type":"image"}]}]})",
       "rows.jsonl:2: prompt[0].content: must be text"},
      {R"({"prompt":["x"]})", "rows.jsonl:2: prompt[0]: must be an object"},
      {R"({"prompt":"x","reward_model":{"ground_truth":1}})", "rows.jsonl:2: data_source: is missing"},
      {R"({"prompt":"x","data_source":1})", "rows.jsonl:2: data_source: must be a string"},
      {R"({"prompt":"x","data_source":"s"})", "rows.jsonl:2: reward_model.ground_truth: is missing"},
      {R"({"prompt":"x","data_source":"s","reward_model":{"ground_truth":null}})",
       "rows.jsonl:2: reward_model.ground_truth: is missing"},
      {R"({"prompt":"x","data_source":"s","reward_model":"1"})",
       "rows.jsonl:2: reward_model: must be an object"},
      {R"({"prompt":"x","data_source":"s","reward_model":{"ground_truth":1},"extra_info":[]})",
       "rows.jsonl:2: extra_info: must be an object"},
      {R"({"prompt":"x","data_source":"s","reward_model":{"ground_truth":1},"tools":[1]})",
       "rows.jsonl:2: tools: must be a list of objects"},
      {R"({"prompt":"x","data_source":"s","reward_model":{"ground_truth":1},"images":["a.png"]})",
       "rows.jsonl:2: images: must be empty"},
      {"[1]", "rows.jsonl:2: is not a JSON object"},
      {R"({"prompt":)", "rows.jsonl:2: is not valid JSON at column"},
      {R"({"prompt":"x"} {)", "rows.jsonl:2: is not valid JSON at column"},
      {"{\"prompt\":\"\xff\"}", "rows.jsonl:2: is not valid JSON at column"},
      {"{\"prompt\":\"\\ud800\"}", "rows.jsonl:2: is not valid JSON at column"},
      {R"({"prompt":1e999})", "rows.jsonl:2: is not valid JSON"},
      {std::string(200, '[') + std::string(200, ']'), "rows.jsonl:2: is nested over 100 levels"},
  };
  for (const auto& [line, expected] : faults) {
    INFO(line);
    REQUIRE_THAT(message_of(kGood + line + "\n" + kGood), Contains(expected));
  }
}

TEST_CASE("the whole file is checked: the first fault, up to five more, and their number") {
  std::string text;
  for (int i = 0; i < 9; ++i) text += kGood + "{}\n";
  const std::string message = message_of(text);
  REQUIRE(message.rfind("rows.jsonl:2: prompt: is missing", 0) == 0);
  for (const char* line : {"rows.jsonl:4:", "rows.jsonl:12:"}) REQUIRE_THAT(message, Contains(line));
  REQUIRE_THAT(message, !Contains("rows.jsonl:14:") && Contains("9 problems in all"));
}

TEST_CASE("no rows, Parquet and one big array are told apart") {
  REQUIRE_THAT(message_of(""), Contains("rows.jsonl: holds no rows"));
  REQUIRE_THAT(message_of("\n  \n"), Contains("holds no rows"));
  REQUIRE_THAT(message_of("PAR1\x15"), Contains("Parquet"));
  REQUIRE_THAT(message_of(std::string("[\n").append(kGood).append("]")), Contains("rows.jsonl:1:"));
  REQUIRE(parse(std::string("\xEF\xBB\xBF").append(kGood)).size() == 1);
}

TEST_CASE("labels and sources may be absent where nothing needs them") {
  const std::vector<PromptRow> rows =
      parse(R"({"question":"x"})",
            {.prompt_key = "question", .require_label = false, .require_data_source = false});
  REQUIRE(rows[0].ground_truth.is_null());
  REQUIRE(rows[0].data_source.empty());
  REQUIRE(rows[0].extra_info.is_object());
}

TEST_CASE("files are joined in order, cut to max_samples, and digested whole") {
  const test::TestFolder folder;
  const std::vector<std::filesystem::path> files = {
      folder.file("a.txt", kGood + test::row("\"a2\"")),
      folder.file("b", std::string("\n").append(test::row("\"b\"")))};
  const PromptDataset all = load_prompts(files, {});
  REQUIRE(all.rows.size() == 3);
  REQUIRE(all.where(2) == files[1].string() + ":2");
  const PromptDataset some = load_prompts(files, {.max_samples = 2});
  REQUIRE(some.rows.size() == 2);
  REQUIRE(some.digest == all.digest);
  folder.file("b", test::row("\"b\""));
  REQUIRE(load_prompts(files, {}).digest != all.digest);
  const std::vector<std::filesystem::path> missing = {folder.path() / "absent.jsonl"};
  REQUIRE_THROWS_WITH(load_prompts(missing, {}), Contains("absent.jsonl"));
}

TEST_CASE("overlong prompts are an error or left out") {
  const test::TestFolder folder;
  const std::vector<std::filesystem::path> files = {
      folder.file("a.jsonl", test::row("\"p1\"") + test::row("\"p2\"") + test::row("\"p3\""))};
  PromptDataset dataset = load_prompts(files, {});
  const std::vector<int64_t> lengths = {5, 700, 900};
  REQUIRE_THROWS_WITH(limit_lengths(dataset, lengths, {.most = 512}),
                      Contains("a.jsonl:2") && Contains("700 tokens") &&
                          Contains("data.max_prompt_length = 512") && Contains("a.jsonl:3 (900)") &&
                          Contains("900 or more"));
  REQUIRE(dataset.rows.size() == 3);
  REQUIRE_THROWS_WITH(limit_lengths(dataset, lengths, {.most = 4, .filter = true}),
                      Contains("shortest row has 5"));
  dataset = load_prompts(files, {});
  REQUIRE(limit_lengths(dataset, lengths, {.most = 700, .filter = true}) == 1);
  REQUIRE(dataset.rows.size() == 2);
  REQUIRE(dataset.rows[1].text == "p2");
  REQUIRE(limit_lengths(dataset, std::vector<int64_t>{5, 700}, {.most = 700}) == 0);
}
