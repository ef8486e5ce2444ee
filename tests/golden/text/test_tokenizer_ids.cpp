// Token ids and decoded text against the Python package `tokenizers`; see scripts/golden/tokenizer_ids.py.
#include <catch2/catch.hpp>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/hash.hpp"
#include "core/text/tokenizer.hpp"
#include "golden/text/golden_data.hpp"

using namespace verlc;
using nlohmann::json;

namespace {

std::string hash_ids(const std::vector<int32_t>& plain, const std::vector<int32_t>& full) {
  std::vector<int32_t> row = plain;
  row.push_back(-1);
  row.insert(row.end(), full.begin(), full.end());
  return sha256({reinterpret_cast<const char*>(row.data()), row.size() * sizeof(int32_t)}).substr(0, 8);
}

/// Streams all ids and checks on the way that no piece splits a character.
std::string stream(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special) {
  text::StreamDecoder decoder(tokenizer, skip_special);
  std::string out;
  for (const int32_t id : ids) out += decoder.push(id);
  return out + decoder.flush();
}

struct Tally {
  size_t ids = 0;
  size_t texts = 0;
  std::string first_wrong;
};

Tally compare(const text::Tokenizer& tokenizer, const json& corpus, const json& golden) {
  Tally tally;
  const auto ids_hashes = golden.at("ids").get<std::string>();
  const auto text_hashes = golden.at("texts").get<std::string>();
  REQUIRE(ids_hashes.size() == corpus.size() * 8);
  REQUIRE(text_hashes.size() == corpus.size() * 8);
  for (size_t i = 0; i < corpus.size(); ++i) {
    const auto& text = corpus[i].get_ref<const std::string&>();
    const auto plain = tokenizer.encode(text, false);
    const auto full = tokenizer.encode(text, true);
    const bool same_ids = hash_ids(plain, full) == ids_hashes.substr(i * 8, 8);
    std::string decoded = stream(tokenizer, full, false);
    decoded += '\0';
    decoded += tokenizer.decode(full, true);
    const bool same_text = sha256(decoded).substr(0, 8) == text_hashes.substr(i * 8, 8);
    tally.ids += same_ids;
    tally.texts += same_text;
    if ((!same_ids || !same_text) && tally.first_wrong.empty()) {
      tally.first_wrong = "text " + std::to_string(i) + (same_ids ? " decodes" : " encodes") +
                          " differently: " + json(text).dump() + " -> " + json(plain).dump();
    }
    const auto sample = golden.at("sample").find(std::to_string(i));
    if (sample != golden.at("sample").end()) {
      INFO("text " << i << ": " << json(text).dump());
      CHECK(json(plain) == *sample);
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("token ids equal the tokenizers package") {
  const json corpus = json::parse(golden::read_xz(golden::data_folder() / "corpus.json.xz"));
  const json all = json::parse(golden::read_xz(golden::data_folder() / "ids.json.xz"));
  REQUIRE(corpus.size() >= 2000);
  for (const auto& [name, golden_ids] : all.items()) {
    const auto raw = golden::find_tokenizer(name);
    if (!raw) continue;
    if (sha256(*raw) != golden_ids.at("sha256").get<std::string>()) {
      std::cout << "skipped " << name << ": its tokenizer.json is another version than the golden's\n";
      continue;
    }
    const auto tokenizer = text::Tokenizer::from_json(*raw, {}, name);
    const Tally tally = compare(tokenizer, corpus, golden_ids);
    std::cout << name << ": ids of " << tally.ids << " and decoded text of " << tally.texts << " of "
              << corpus.size() << " texts are equal\n";
    INFO(name << ": " << tally.first_wrong);
    CHECK(tally.ids == corpus.size());
    CHECK(tally.texts == corpus.size());
  }
}

TEST_CASE("a rendered Llama 3.1 chat begins with one BOS (traps B10)") {
  const auto raw = golden::find_tokenizer("llama3_1");
  if (!raw) return;
  const auto tokenizer = text::Tokenizer::from_json(*raw, {}, "llama3_1");
  const std::string rendered = "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>";
  const auto ids = tokenizer.encode(rendered, false);
  REQUIRE(ids.size() > 2);
  CHECK(ids[0] == 128000);
  CHECK(ids[1] == 128006);
  CHECK(tokenizer.encode("hi", true).front() == 128000);
  CHECK(tokenizer.encode("hi", false).front() != 128000);
}
