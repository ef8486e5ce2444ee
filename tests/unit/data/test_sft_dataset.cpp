#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "data/sft_dataset.hpp"

using namespace verlc;
using Catch::Contains;

TEST_CASE("SFT rows: conversations and pairs") {
  const std::vector<SftRow> rows =
      parse_sft(R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})"
                "\n"
                R"({"prompt":"1+1=","response":"2"})"
                "\n"
                R"({"prompt":[{"role":"user","content":"q"}],"response":"a"})",
                "sft.jsonl", {});
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[0].messages.size() == 2);
  REQUIRE(rows[1].messages.is_null());
  REQUIRE(rows[1].text == "1+1=");
  REQUIRE(rows[1].response == "2");
  REQUIRE(rows[2].prompt_messages.size() == 1);
}

TEST_CASE("SFT faults name file, line and key") {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {R"({"messages":[{"role":"user","content":"q"}]})",
       "sft.jsonl:1: messages: holds no assistant message"},
      {R"({"messages":"q"})", "sft.jsonl:1: messages: must be a non-empty list"},
      {R"({"prompt":"q"})", "sft.jsonl:1: response: is missing"},
      {R"({"prompt":"q","response":""})", "sft.jsonl:1: response: must be non-empty text"},
      {R"({"response":"a"})", "sft.jsonl:1: prompt: is missing"},
      {R"({"prompt":[{"role":1}],"response":"a"})", "sft.jsonl:1: prompt[0].role"},
  };
  for (const auto& [line, expected] : faults)
    REQUIRE_THROWS_WITH(parse_sft(line, "sft.jsonl", {}), Contains(expected));
}
