// Small tokenizer.json texts for the tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/text/byte_level.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {

/// Byte-level BPE over the 256 bytes, with merges for "th" and "the" and two special tokens after them.
inline nlohmann::json byte_level_file() {
  using nlohmann::json;
  json vocab = json::object();
  for (int byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_utf8(symbol, byte_to_symbol(static_cast<uint8_t>(byte)));
    vocab[symbol] = byte;
  }
  vocab["th"] = 256;
  vocab["the"] = 257;
  const auto special = [](int id, const char* content) {
    return json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  };
  return {{"version", "1.0"},
          {"added_tokens", json::array({special(258, "<bos>"), special(259, "<eos>")})},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"t h", "th e"}}}}};
}

/// SentencePiece-style BPE: a few letters, byte fallback, metaspace by normalizer, as Llama 2 has it.
inline nlohmann::json byte_fallback_file() {
  using nlohmann::json;
  json vocab = {{"<unk>", 0}, {"a", 257}, {"b", 258}, {"\u2581", 259}, {"\u2581a", 260}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    vocab[name] = byte + 1;
  }
  const json mark = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  const json space = {{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  return {{"added_tokens", json::array()},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers", json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, mark})}}},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders", json::array({space, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip})}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", json::array({json::array({"\u2581", "a"})})}}}};
}

/// A word-level file whose words are single characters.
inline nlohmann::json character_file() {
  using nlohmann::json;
  return {{"added_tokens", json::array()},
          {"pre_tokenizer",
           {{"type", "Split"}, {"pattern", {{"Regex", ""}}}, {"behavior", "Isolated"}, {"invert", false}}},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "WordLevel"},
            {"vocab", {{"1", 0}, {"2", 1}, {"+", 2}, {"=", 3}, {"?", 4}}},
            {"unk_token", "?"}}}};
}

}  // namespace verlc::text
