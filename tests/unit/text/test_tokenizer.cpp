#include <catch2/catch.hpp>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/text/tokenizer.hpp"
#include "core/text/unicode.hpp"
#include "unit/text/tokenizer_files.hpp"

using namespace verlc;
using namespace verlc::text;
using Ids = std::vector<int32_t>;
using nlohmann::json;

namespace {

Tokenizer make(const json& file, const std::string& config = {}) {
  return Tokenizer::from_json(file.dump(), config);
}

std::string refusal(const json& file) {
  try {
    make(file);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "(accepted)";
}

std::string random_text(RandomStream& stream) {
  static constexpr char32_t kTops[] = {0x80, 0x800, 0x3000, 0xD800, 0x110000};
  std::string text;
  const uint64_t size = stream.below(40);
  for (uint64_t i = 0; i < size; ++i) {
    auto c = static_cast<char32_t>(stream.below(kTops[stream.below(5)]));
    if (c >= 0xD800 && c <= 0xDFFF) c = ' ';
    append_utf8(text, c);
  }
  return text;
}

/// The stream's pieces joined; every piece must be well-formed by itself.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
  StreamDecoder decoder(tokenizer, false);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.push(id);
    CHECK(is_valid_utf8(piece));
    text += piece;
  }
  return text + decoder.flush();
}

}  // namespace

TEST_CASE("byte-level BPE merges by rank and decodes what it encoded") {
  const Tokenizer tokenizer = make(byte_level_file());
  CHECK(tokenizer.encode("the", false) == Ids{257});
  CHECK(tokenizer.encode("thth", false) == Ids{256, 256});
  CHECK(tokenizer.vocab_size() == 260);
  CHECK(tokenizer.id_to_token(257) == "the");
  CHECK(tokenizer.id_to_token(-1).empty());
  CHECK(tokenizer.id_to_token(5000).empty());
  CHECK(tokenizer.token_to_id("<eos>") == 259);
  CHECK(tokenizer.decode(Ids{257, 259, 99999, 256}, true) == "theth");
  CHECK(tokenizer.decode(Ids{257, 259}, false) == "the<eos>");
}

TEST_CASE("any text survives a round trip through every kind of model") {
  const Tokenizer byte_level = make(byte_level_file());
  const Tokenizer fallback = make(byte_fallback_file());
  RandomStream stream(1, Purpose::test);
  for (int i = 0; i < 500; ++i) {
    const std::string text = random_text(stream);
    REQUIRE(byte_level.decode(byte_level.encode(text, false), false) == text);
    if (text.find("\u2581") == std::string::npos) {
      REQUIRE(fallback.decode(fallback.encode(text, false), false) == text);
    }
  }
}

TEST_CASE("streaming decode never splits a character and equals decode") {
  RandomStream stream(2, Purpose::test);
  for (const json& file : {byte_level_file(), byte_fallback_file()}) {
    const Tokenizer tokenizer = make(file);
    for (int i = 0; i < 300; ++i) {
      Ids ids;
      for (uint64_t k = stream.below(30); k > 0; --k) {
        ids.push_back(static_cast<int32_t>(stream.below(static_cast<uint64_t>(tokenizer.vocab_size()) + 3)));
      }
      REQUIRE(streamed(tokenizer, ids) == tokenizer.decode(ids, false));
    }
    const std::string text = "a\U0001F469\u200D\U0001F4BB b";
    REQUIRE(streamed(tokenizer, tokenizer.encode(text, false)) == text);
  }
}

TEST_CASE("ill-formed UTF-8 is read as U+FFFD") {
  const Tokenizer tokenizer = make(byte_level_file());
  CHECK(tokenizer.encode("a\xFF\xE4\xB8z", false) == tokenizer.encode("a\uFFFD\uFFFDz", false));
  CHECK(tokenizer.decode(Ids{0xE4, 0xB8, 'z'}, false) == "\uFFFDz");
}

TEST_CASE("a character-level file works, by BPE without merges and by words") {
  const Tokenizer words = make(character_file());
  CHECK(words.encode("1+2=x", false) == Ids{0, 2, 1, 3, 4});
  CHECK(words.decode(Ids{0, 2, 1}, false) == "1+2");
  json bpe = character_file();
  bpe["model"] = {{"type", "BPE"}, {"vocab", {{"1", 0}, {"2", 1}, {"+", 2}}}, {"merges", json::array()}};
  bpe.erase("pre_tokenizer");
  CHECK(make(bpe).encode("1+2", false) == Ids{0, 2, 1});
}

TEST_CASE("added tokens obey their flags") {
  json file = byte_level_file();
  const auto add = [&](int id, const char* content, const char* flag, bool normalized) {
    json token = {{"id", id}, {"content", content}, {"special", false}, {"normalized", normalized}};
    if (flag != nullptr) token[flag] = true;
    file["added_tokens"].push_back(token);
  };
  add(260, "<w>", "single_word", false);
  add(261, "<l>", "lstrip", false);
  add(262, "<r>", "rstrip", false);
  add(263, "<x", nullptr, false);
  add(264, "<xy>", nullptr, false);
  add(265, "UP", nullptr, true);
  file["normalizer"] = {{"type", "Lowercase"}};
  const Tokenizer tokenizer = make(file);
  CHECK(tokenizer.encode("a<w>", false).size() == 4);
  CHECK(tokenizer.encode("<w>", false) == Ids{260});
  CHECK(tokenizer.encode("a  <l>", false) == Ids{'a', 261});
  CHECK(tokenizer.encode("<r> \n<l>", false) == Ids{262, 261});
  CHECK(tokenizer.encode("<xy><x", false) == Ids{264, 263});
  CHECK(tokenizer.encode("Up", false) == Ids{265});
  CHECK(tokenizer.encode("<BOS>", false).size() == 5);
}

TEST_CASE("text from a template gets no second BOS (traps B10)") {
  json file = byte_level_file();
  file["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", json::array({{{"SpecialToken", {{"id", "<bos>"}}}}, {{"Sequence", {{"id", "A"}}}}})},
      {"special_tokens", {{"<bos>", {{"ids", {258}}}}}}};
  const Tokenizer plain = make(file);
  CHECK(plain.encode("a", true) == Ids{258, 'a'});
  CHECK(plain.encode("<bos>a", false) == Ids{258, 'a'});
  const std::string config = R"({"bos_token":"<bos>","eos_token":{"content":"<eos>"},"add_bos_token":true})";
  const Tokenizer both = make(file, config);
  CHECK(both.encode("a", true) == Ids{258, 'a'});
  CHECK(both.eos_id() == 259);
  CHECK(both.pad_id() == -1);
  const Tokenizer by_config = make(byte_level_file(), config);
  CHECK(by_config.encode("a", true) == Ids{258, 'a'});
  CHECK(by_config.encode("<bos>a", true) == Ids{258, 'a'});
}

TEST_CASE("a part that is not supported is named with what is") {
  json file = byte_level_file();
  file["model"]["type"] = "Unigram";
  CHECK_THAT(refusal(file), Catch::Contains("Unigram") && Catch::Contains("BPE, WordLevel"));
  file = byte_level_file();
  file["normalizer"] = {{"type", "Precompiled"}};
  CHECK_THAT(refusal(file), Catch::Contains("Precompiled") && Catch::Contains("NFKC"));
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", json::array({{{"type", "UnicodeScripts"}}})}};
  CHECK_THAT(refusal(file), Catch::Contains("pretokenizers[0]") && Catch::Contains("UnicodeScripts"));
  file = byte_level_file();
  file["decoder"] = {{"type", "CTC"}};
  CHECK_THAT(refusal(file), Catch::Contains("CTC") && Catch::Contains("Metaspace"));
}

TEST_CASE("lying or malformed files are refused") {
  CHECK_THROWS_AS(Tokenizer::from_json("{\"model\": "), Error);
  CHECK_THROWS_AS(Tokenizer::from_json("[]"), Error);
  CHECK_THROWS_AS(Tokenizer::from_json("{}"), Error);
  CHECK_THROWS_AS(Tokenizer::from_json(std::string(100000, '[')), Error);
  json file = byte_level_file();
  file["model"]["merges"].push_back("q zz");
  CHECK_THAT(refusal(file), Catch::Contains("merges[2]") && Catch::Contains("zz"));
  file = byte_level_file();
  file["model"]["vocab"]["far"] = 2000000000;
  CHECK_THAT(refusal(file), Catch::Contains("2000000000"));
  file["model"]["vocab"]["far"] = 7;
  CHECK_THAT(refusal(file), Catch::Contains("share"));
  file["model"]["vocab"]["far"] = "x";
  CHECK_THAT(refusal(file), Catch::Contains("vocab"));
  file = byte_level_file();
  file["added_tokens"][0]["id"] = 5;
  CHECK_THAT(refusal(file), Catch::Contains("contradicts"));
  file["added_tokens"][0]["id"] = 2000000000;
  CHECK_THAT(refusal(file), Catch::Contains("2000000000"));
  file = byte_level_file();
  file["post_processor"] = {{"type", "BertProcessing"}, {"cls", {"[CLS]", 7000}}, {"sep", {"[SEP]", 1}}};
  CHECK_THAT(refusal(file), Catch::Contains("no token"));
  file = byte_level_file();
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(unclosed"}}}, {"behavior", "Isolated"}};
  CHECK_THAT(refusal(file), Catch::Contains("(unclosed"));
}

TEST_CASE("many threads may encode at once") {
  const Tokenizer tokenizer = make(byte_level_file());
  const Ids expected = tokenizer.encode("the other thing with the words", false);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i)
        wrong[t] += tokenizer.encode("the other thing with the words", false) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}
