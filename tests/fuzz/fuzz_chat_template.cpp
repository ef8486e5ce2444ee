// Any bytes as a chat template: an Error, or well-formed text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/text/chat_template.hpp"
#include "core/text/unicode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    verlc::text::ChatOptions options;
    options.now = 0;
    options.variables["tools"] = nullptr;
    const auto messages = nlohmann::ordered_json::parse(
        R"([{"role":"user","content":"h\u00e9 <x>"},{"role":"assistant","content":"b","n":[1,2.5,null,true]}])");
    const auto chat = verlc::text::ChatTemplate::from_string(source, {{"bos_token", "<s>"}});
    verlc::check(verlc::text::is_valid_utf8(chat.render(messages, options)), "text is well-formed");
  } catch (const verlc::Error&) {
    return 0;
  }
  return 0;
}
