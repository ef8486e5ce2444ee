#include <catch2/catch.hpp>
#include <string>

#include "core/hf/json_value.hpp"
#include "unit/hf/hf_files.hpp"

namespace verlc::hf {

using test::message_of;

TEST_CASE("malformed JSON is told with its file, line and column") {
  const test::TempFolder folder;
  test::put(folder / "config.json", "{\n  \"a\": 1,\n  \"b\": oops\n}\n");
  const std::string message = message_of([&] { read_json_file(folder / "config.json"); });
  CHECK_THAT(message, Catch::Contains("config.json:3:8") && Catch::Contains("malformed JSON"));
  CHECK_THAT(message_of([] { parse_json_text("", "x"); }), Catch::Contains("x:1:1"));
  CHECK_THAT(message_of([] { parse_json_text("{\"a\":1} 2", "x"); }), Catch::Contains("malformed"));
  CHECK_THAT(message_of([] { parse_json_text("\"\xc3\x28\"", "x"); }), Catch::Contains("malformed"));
  CHECK_THAT(message_of([] { parse_json_text("1e999", "x"); }), Catch::Contains("malformed"));
  CHECK_THAT(message_of([] { parse_json_text(R"({"a":{"k":1,"k":2}})", "x"); }),
             Catch::Contains("twice") && Catch::Contains("\"k\""));
  CHECK(message_of([] { parse_json_text("\"" + std::string(1 << 20, 'y'), "x"); }).size() < 500);
}

TEST_CASE("deep nesting is refused before it can exhaust the stack") {
  const std::string deep(1'000'000, '[');
  CHECK_THAT(message_of([&] { parse_json_text(deep, "x"); }), Catch::Contains("200 levels"));
  std::string objects;
  for (int i = 0; i < 300; ++i) objects += "{\"a\":";
  CHECK_THAT(message_of([&] { parse_json_text(objects, "x"); }), Catch::Contains("200 levels"));
  CHECK(message_of([] { parse_json_text(std::string(200, '[') + std::string(200, ']'), "x"); }) ==
        "(no error)");
}

TEST_CASE("parsed values are those of the text") {
  const std::string text =
      R"({"a":[1,-2,0.5,true,null,"s\u00e9"],"b":{"c":[{}],"d":[]},"e":18446744073709551615})";
  CHECK(parse_json_text(text, "x") == Json::parse(text));
  CHECK(parse_json_text("3", "x") == Json(3));
}

TEST_CASE("files that are too large, absent or no object are refused") {
  const test::TempFolder folder;
  test::put(folder / "a.json", "[1, 2, 3]");
  CHECK_THAT(message_of([&] { read_json_file(folder / "a.json", 4); }), Catch::Contains("larger than 4"));
  CHECK_THAT(message_of([&] { read_json_object(folder / "a.json"); }),
             Catch::Contains("a.json") && Catch::Contains("one JSON object") && Catch::Contains("[1,2,3]"));
  CHECK_THAT(message_of([&] { read_json_file(folder / "b.json"); }), Catch::Contains("b.json"));
  CHECK_THAT(message_of([&] { read_json_file(folder.path()); }), Catch::Contains("regular file"));
}

TEST_CASE("typed members name file, key, value and rule") {
  const Json object =
      Json::parse(R"({"i":12,"big":18446744073709551615,"f":0.5,"b":true,"s":"text","n":null,)"
                  R"("l":[1,2],"m":[1,"x"],"o":{"k":1}})");
  CHECK(json_int(object, "i", "c.json") == 12);
  CHECK(json_int(object, "x", "c.json", 5) == 5);
  CHECK(json_int(object, "n", "c.json", 5) == 5);
  CHECK_THAT(message_of([&] { json_int(object, "x", "c.json"); }),
             Catch::Contains("c.json: x") && Catch::Contains("missing"));
  CHECK_THAT(message_of([&] { json_int(object, "n", "c.json"); }), Catch::Contains("missing"));
  CHECK_THAT(message_of([&] { json_int(object, "s", "c.json"); }),
             Catch::Contains("c.json: s") && Catch::Contains("integer") && Catch::Contains("\"text\""));
  CHECK_THAT(message_of([&] { json_int(object, "i", "c.json", {}, 1, 8); }),
             Catch::Contains("from 1 to 8") && Catch::Contains("12"));
  CHECK_THAT(message_of([&] { json_int(object, "i", "c.json", {}, 13); }), Catch::Contains("at least 13"));
  CHECK_THAT(message_of([&] { json_int(object, "big", "c.json"); }), Catch::Contains("must be an integer"));
  CHECK_THAT(message_of([&] { json_int(object, "f", "c.json"); }), Catch::Contains("must be an integer"));
  CHECK(json_number(object, "f", "c.json") == 0.5);
  CHECK(json_number(object, "i", "c.json") == 12.0);
  CHECK_THAT(message_of([&] { json_number(object, "f", "c.json", {}, 1.0); }), Catch::Contains("at least 1"));
  CHECK_THAT(message_of([&] { json_number(object, "b", "c.json"); }), Catch::Contains("must be a number"));
  CHECK(json_bool(object, "b", "c.json"));
  CHECK_FALSE(json_bool(object, "x", "c.json", false));
  CHECK_THAT(message_of([&] { json_bool(object, "i", "c.json"); }), Catch::Contains("true or false"));
  CHECK(json_string(object, "s", "c.json") == "text");
  CHECK_THAT(message_of([&] { json_string(object, "i", "c.json"); }), Catch::Contains("must be a string"));
  CHECK(json_int_list(object, "i", "c.json") == std::vector<int64_t>{12});
  CHECK(json_int_list(object, "l", "c.json") == std::vector<int64_t>{1, 2});
  CHECK(json_int_list(object, "n", "c.json").empty());
  CHECK_THAT(message_of([&] { json_int_list(object, "m", "c.json"); }), Catch::Contains("[1,\"x\"]"));
  CHECK_THAT(message_of([&] { json_int_list(object, "l", "c.json", 0, 1); }), Catch::Contains("from 0 to 1"));
  CHECK(json_number_list(object, "l", "c.json") == std::vector<double>{1, 2});
  CHECK_THAT(message_of([&] { json_number_list(object, "i", "c.json"); }),
             Catch::Contains("list of numbers"));
  CHECK(json_int(*json_object(object, "o", "c.json"), "k", "c.json: o") == 1);
  CHECK(json_object(object, "x", "c.json") == nullptr);
  CHECK_THAT(message_of([&] { json_object(object, "i", "c.json"); }), Catch::Contains("must be an object"));
  CHECK_THAT(message_of([&] { json_int(object["i"], "k", "c.json"); }),
             Catch::Contains("must be a JSON object"));
}

}  // namespace verlc::hf
