// Normalizers and pre-tokenizers one by one; the expected values were read off the `tokenizers` library.
#include <catch2/catch.hpp>

#include "core/text/normalizer.hpp"
#include "core/text/pre_tokenizer.hpp"
#include "core/text/unicode.hpp"

using namespace verlc::text;

namespace {

std::string normalized(const std::string& part, const std::string& text) {
  const Json tree = Json::parse(part);
  return read_normalizer({&tree, "normalizer"})->apply(text);
}

std::vector<std::string> words(const std::string& part, const std::string& text) {
  const Json tree = Json::parse(part);
  Segments segments{text, {{0, text.size()}}, true};
  read_pre_tokenizer({&tree, "pre_tokenizer"})->apply(segments);
  std::vector<std::string> out;
  for (const Range& piece : segments.pieces) out.emplace_back(segments.view(piece));
  return out;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("normalizers") {
  CHECK(normalized(R"({"type":"NFC"})", "e\u0301") == "\u00E9");
  CHECK(normalized(R"({"type":"NFD"})", "\u00E9") == "e\u0301");
  CHECK(normalized(R"({"type":"NFKC"})", "\uFB01\u00BD") == "fi1\u20442");
  CHECK(normalized(R"({"type":"NFKD"})", "\u2460") == "1");
  CHECK(normalized(R"({"type":"Lowercase"})", "\u0130A\u03A3") == "i\u0307a\u03C3");
  CHECK(normalized(R"({"type":"Strip","strip_left":true,"strip_right":false})", " \u3000a ") == "a ");
  CHECK(normalized(R"({"type":"StripAccents"})", "e\u0301a") == "ea");
  CHECK(normalized(R"({"type":"Replace","pattern":{"Regex":"a+"},"content":"$1"})", "baab") == "b$1b");
  CHECK(normalized(R"({"type":"Prepend","prepend":"_"})", "").empty());
  CHECK(normalized(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]})",
                   "\u00E9") == "e");
}

TEST_CASE("split behaviours") {
  const auto split = [](const std::string& behavior, const std::string& more) {
    return words(R"({"type":"Split","pattern":{"String":"-"},"behavior":")" + behavior + "\"" + more + "}",
                 "a--b-c");
  };
  CHECK(split("Removed", "") == Words{"a", "b", "c"});
  CHECK(split("Isolated", "") == Words{"a", "-", "-", "b", "-", "c"});
  CHECK(split("MergedWithPrevious", "") == Words{"a-", "-", "b-", "c"});
  CHECK(split("MergedWithNext", "") == Words{"a", "-", "-b", "-c"});
  CHECK(split("Contiguous", "") == Words{"a", "--", "b", "-", "c"});
  CHECK(split("Removed", R"(,"invert":true)") == Words{"-", "-", "-"});
}

TEST_CASE("pre-tokenizers") {
  CHECK(words(R"({"type":"Digits","individual_digits":true})", "a12b") == Words{"a", "1", "2", "b"});
  CHECK(words(R"({"type":"Digits","individual_digits":false})", "a12b") == Words{"a", "12", "b"});
  CHECK(words(R"({"type":"Punctuation"})", "hi, you!") == Words{"hi", ",", " you", "!"});
  CHECK(words(R"({"type":"Whitespace"})", "hi, you!? _a") == Words{"hi", ",", "you", "!?", "_a"});
  CHECK(words(R"({"type":"WhitespaceSplit"})", " a \u3000b") == Words{"a", "b"});
  CHECK(words(R"({"type":"CharDelimiterSplit","delimiter":"|"})", "a|b") == Words{"a", "b"});
  CHECK(words(R"({"type":"BertPreTokenizer"})", "a b,c") == Words{"a", "b", ",", "c"});
  CHECK(words(R"({"type":"ByteLevel","add_prefix_space":true})", "a b's") ==
        Words{"\u0120a", "\u0120b", "'s"});
  CHECK(words(R"({"type":"Metaspace","prepend_scheme":"always"})", "a b") == Words{"\u2581a", "\u2581b"});
  CHECK(words(R"({"type":"Metaspace","prepend_scheme":"never","split":false})", "a b") == Words{"a\u2581b"});
}

TEST_CASE("UTF-8 decoding follows the maximal-subpart rule") {
  CHECK(to_valid_utf8("\xE4\xB8") == "\uFFFD");
  CHECK(to_valid_utf8("\xF0\x9F\x98 x") == "\uFFFD x");
  CHECK(to_valid_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xC0\x80") == "\uFFFD\uFFFD");
  CHECK(is_valid_utf8("\uFFFD"));
  CHECK(incomplete_tail("a\xF0\x9F\x98") == 3);
  CHECK(incomplete_tail("a\xE4") == 1);
  CHECK(incomplete_tail("a\xED\xA0") == 0);
  CHECK(incomplete_tail("\u00E9") == 0);
}
