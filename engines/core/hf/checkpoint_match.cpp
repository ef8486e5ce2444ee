// HfCheckpoint::match: what is stored against what a model needs.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/hf/json_value.hpp"

namespace verlc::hf {
namespace {

// Rotary tables that older transformers stored; they follow from config.json.
bool is_derived_buffer(std::string_view name) {
  for (const std::string_view buffer :
       {"rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached"}) {
    if (name == buffer) return true;
    if (name.ends_with(buffer) && name[name.size() - buffer.size() - 1] == '.') return true;
  }
  return false;
}

// The largest |a - b|; 0 only when all elements are equal. NaN on one side counts as infinitely far, as do
// infinities that differ.
double largest_difference(const TensorView& a, const TensorView& b) {
  if (a.type == b.type && std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()))
    return 0;
  constexpr size_t kChunk = 4096;
  std::array<float, kChunk> left;
  std::array<float, kChunk> right;
  const size_t count = static_cast<size_t>(a.size());
  double largest = 0;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t part = std::min(kChunk, count - begin);
    convert_to_f32(a.type, a.bytes.data() + begin * file_type_size(a.type), part, left.data());
    convert_to_f32(b.type, b.bytes.data() + begin * file_type_size(b.type), part, right.data());
    for (size_t i = 0; i < part; ++i) {
      if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
      const double difference = std::abs(double{left[i]} - double{right[i]});
      largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
    }
  }
  return largest;
}

// Everything that is wrong, gathered for one message.
struct Findings {
  std::vector<std::string> missing, extra, misshaped, mistyped, other;

  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    const auto add = [&parts](const char* title, const std::vector<std::string>& names) {
      if (!names.empty())
        parts.push_back(fmt::format("{} {}: {}", names.size(), title, fmt::join(names, ", ")));
    };
    add("missing", missing);
    add("extra", extra);
    add("misshaped", misshaped);
    add("of a type that is not floating", mistyped);
    for (const std::string& sentence : other) parts.push_back(sentence);
    return fmt::format("{}", fmt::join(parts, "; "));
  }
};

void compare_one(const TensorView* stored, const ExpectedTensor& need, Findings* findings) {
  if (stored == nullptr) {
    findings->missing.push_back(fmt::format("{} {}", need.name, to_string(need.shape)));
  } else if (stored->shape != need.shape) {
    findings->misshaped.push_back(
        fmt::format("{} is {}, needs {}", need.name, to_string(stored->shape), to_string(need.shape)));
  } else if (!is_floating(stored->type)) {
    findings->mistyped.push_back(fmt::format("{} is {}", need.name, file_type_name(stored->type)));
  }
}

// A stored head under tie_word_embeddings = true must be the embedding again.
void compare_tied(const TensorView& head, const TensorView* embedding, Findings* findings) {
  if (embedding == nullptr) return;  // reported as missing
  if (head.shape != embedding->shape) {
    findings->misshaped.push_back(fmt::format("{} is {}, but it is tied to {} of {}", head.name,
                                              to_string(head.shape), embedding->name,
                                              to_string(embedding->shape)));
  } else if (!is_floating(head.type) || !is_floating(embedding->type)) {
    if (!is_floating(head.type)) {
      findings->mistyped.push_back(fmt::format("{} is {}", head.name, file_type_name(head.type)));
    }
  } else if (const double difference = largest_difference(head, *embedding); difference > 0) {
    findings->other.push_back(
        fmt::format("config.json ties {} to {}, but both are stored and differ (max |difference| = {})",
                    head.name, embedding->name, difference));
  }
}

}  // namespace

MatchResult HfCheckpoint::match(const std::vector<ExpectedTensor>& expected, const TieRule& tie) const {
  MatchResult result;
  Findings findings;
  std::set<std::string_view> needed;
  for (const ExpectedTensor& need : expected) {
    if (tie.tied && need.name == tie.head) continue;
    needed.insert(need.name);
    compare_one(find(need.name), need, &findings);
    if (need.name == tie.head && find(need.name) == nullptr) {
      findings.other.push_back(
          fmt::format("tie_word_embeddings is false, so {} can't stand in for {}", tie.embedding, tie.head));
    }
  }
  if (tie.tied) {
    result.head_is_embedding = true;
    if (const TensorView* head = find(tie.head)) {
      compare_tied(*head, find(tie.embedding), &findings);
      result.ignored.push_back(tie.head);
    }
  }
  for (const auto& [name, place] : places_) {
    if (needed.contains(name) || (tie.tied && name == tie.head)) continue;
    if (is_derived_buffer(name)) {
      result.ignored.push_back(name);
    } else {
      findings.extra.push_back(fmt::format("{} {}", name, to_string(place.tensor->shape)));
    }
  }
  if (const std::string text = findings.text(); !text.empty()) {
    fail_input({.what = "the checkpoint does not hold the model that config.json describes: " + text,
                .where = folder_.string(),
                .value = {},
                .fix = "check that config.json and the weights are of the same model"});
  }
  return result;
}

}  // namespace verlc::hf
