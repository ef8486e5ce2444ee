// Rendered chats against the Python package `transformers`; see scripts/golden/chat_templates.py.
#include <catch2/catch.hpp>
#include <iostream>
#include <optional>

#include "core/base/error.hpp"
#include "core/text/chat_template.hpp"
#include "golden/text/golden_data.hpp"

using namespace verlc;
using nlohmann::ordered_json;

namespace {

/// The text, or nothing when the template refuses; `reason` then says why.
std::optional<std::string> render(const text::ChatTemplate& chat, const ordered_json& conversation,
                                  bool prompt, int64_t now, std::string& reason) {
  text::ChatOptions options;
  options.add_generation_prompt = prompt;
  options.now = now;
  if (conversation.contains("tools")) options.tools = conversation.at("tools");
  if (conversation.contains("variables")) options.variables = conversation.at("variables");
  try {
    return chat.render(conversation.at("messages"), options);
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

std::string shown(const std::optional<std::string>& text) {
  return text ? ordered_json(*text).dump() : "(refused)";
}

}  // namespace

TEST_CASE("chat templates render as transformers does, byte for byte") {
  const ordered_json golden = ordered_json::parse(golden::read_xz(golden::data_folder() / "chat.json.xz"));
  const auto& conversations = golden.at("conversations");
  REQUIRE(conversations.size() >= 40);
  const auto now = golden.at("now").get<int64_t>();
  size_t total = 0;
  size_t texts = 0;
  for (const auto& [name, entry] : golden.at("templates").items()) {
    const auto chat = text::ChatTemplate::from_string(entry.at("source").get<std::string>(),
                                                      entry.at("special_tokens"), name);
    size_t equal = 0;
    for (size_t i = 0; i < conversations.size(); ++i) {
      for (const size_t prompt : {0, 1}) {
        const auto& wanted = golden.at("rendered").at(name).at(i).at(prompt);
        std::optional<std::string> expected;
        if (wanted.is_string()) expected = wanted.get<std::string>();
        std::string reason;
        const auto got = render(chat, conversations[i], prompt == 1, now, reason);
        INFO(name << " conversation " << i << " prompt " << prompt << "\n got " << shown(got) << "\nwant "
                  << shown(expected) << "\n"
                  << reason);
        CHECK((got == expected));
        equal += got == expected;
        texts += expected.has_value();
      }
    }
    total += equal;
    if (equal != conversations.size() * 2) std::cout << name << ": only " << equal << " equal\n";
  }
  std::cout << golden.at("templates").size() << " templates x " << conversations.size()
            << " conversations x generation prompt off/on: " << total << " equal, of them " << texts
            << " texts, the others refused by both\n";
}
