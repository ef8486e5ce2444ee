// Any bytes as tokenizer.json: an Error, or a tokenizer that encodes and decodes without harm, streamed as at
// once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/text/tokenizer.hpp"
#include "core/text/unicode.hpp"

namespace {

void exercise(const verlc::text::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int32_t> ids = tokenizer.encode(text, true);
  for (const int32_t id : ids) verlc::check(!tokenizer.id_to_token(id).empty() || id >= 0, "ids are tokens");
  verlc::text::StreamDecoder stream(tokenizer, false);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.push(id);
  streamed += stream.flush();
  verlc::check(streamed == tokenizer.decode(ids, false), "a stream equals the whole");
  verlc::check(verlc::text::is_valid_utf8(streamed), "text is well-formed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = verlc::text::Tokenizer::from_json(file);
    for (const char* text :
         {"", "the 12 th\n\n  a\u00e9\u2581\U0001F469\u200D\U0001F4BB<s> [x]", "\xff\xe4\xb8 z\t"}) {
      exercise(tokenizer, text);
    }
    exercise(tokenizer, file.substr(0, 200));
  } catch (const verlc::Error&) {
    return 0;
  }
  return 0;
}
