#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "core/base/error.hpp"
#include "core/base/executor.hpp"
#include "core/base/rng.hpp"
#include "host/host_services.hpp"
#include "host/plugin_check/check_plugin.hpp"
#include "host/reward_plugin.hpp"

namespace verlc {
namespace {

constexpr uint64_t kSeed = 20240501;

struct Session {
  CachingAllocator allocator;
  InlineExecutor executor;
  LogService log{LogLevel::error};
  HostServices services{allocator, executor, log};
  std::shared_ptr<Plugin> plugin;
  explicit Session(const PluginFile& file) : plugin(Plugin::load(file, services.table())) {}
};

struct Texts {
  std::vector<std::string> responses;
  std::vector<std::string> references;
  std::vector<RewardSample> samples;
};

// Plain answers, empty and long texts, and bytes that are no UTF-8.
Texts make_texts() {
  Texts texts;
  RandomStream stream(kSeed, Purpose::test);
  for (int i = 0; i < 48; ++i) {
    std::string response = fmt::format("The answer is {}", i % 7);
    if (i % 6 == 1) response = "";
    if (i % 6 == 2) response.assign(i == 2 ? size_t{1} << 20 : 300, 'x');
    if (i % 6 == 3)
      for (int k = 0; k < 40; ++k) response += static_cast<char>(stream.next_u32());
    texts.responses.push_back(response);
    texts.references.push_back(i % 2 == 0 ? fmt::format("\"{}\"", i % 7) : std::to_string(i % 5));
  }
  for (size_t i = 0; i < texts.responses.size(); ++i) {
    RewardSample sample;
    sample.uid = i;
    sample.group = i / 4;
    sample.data_source = "check";
    sample.prompt = "What is it?";
    sample.response = texts.responses[i];
    sample.reference = texts.references[i];
    texts.samples.push_back(sample);
  }
  return texts;
}

bool same(const RewardScore& a, const RewardScore& b) {
  return a.ok == b.ok && (!a.ok || std::bit_cast<uint64_t>(a.reward) == std::bit_cast<uint64_t>(b.reward));
}

CaseResult same_twice(const PluginFile& file) {
  Session session(file);
  RewardPlugin reward(session.plugin, "{}");
  const Texts texts = make_texts();
  std::vector<RewardScore> first;
  std::vector<RewardScore> second;
  reward.score(texts.samples, first);
  reward.score(texts.samples, second);
  for (size_t i = 0; i < first.size(); ++i)
    if (!same(first[i], second[i]))
      return {Verdict::fail, fmt::format("sample {} differs, seed {}", i, kSeed)};
  return {};
}

CaseResult independent_of_batch(const PluginFile& file) {
  Session session(file);
  RewardPlugin reward(session.plugin, "{}");
  Texts texts = make_texts();
  std::vector<RewardScore> whole;
  reward.score(texts.samples, whole);
  std::reverse(texts.samples.begin(), texts.samples.end());
  for (size_t begin = 0; begin < texts.samples.size(); begin += 5) {
    const size_t count = std::min<size_t>(5, texts.samples.size() - begin);
    std::vector<RewardScore> part;
    reward.score(std::span<const RewardSample>(texts.samples).subspan(begin, count), part);
    for (size_t i = 0; i < count; ++i)
      if (!same(part[i], whole[texts.samples[begin + i].uid]))
        return {Verdict::fail, fmt::format("sample {} depends on its batch", texts.samples[begin + i].uid)};
  }
  std::vector<RewardScore> none;
  reward.score({}, none);
  return {};
}

CaseResult survives_bad_config(const PluginFile& file) {
  Session session(file);
  RandomStream stream(kSeed, Purpose::test, 1);
  size_t refused = 0;
  const std::string shapes[] = {"",
                                "[",
                                "{",
                                "{\"",
                                "{\"a\"",
                                "{\"a\":",
                                "{\"a\":1,}",
                                "[]",
                                "null",
                                "{}}",
                                std::string(100000, '{'),
                                std::string("{\"a\0b\":1}", 9)};
  for (int i = 0; i < 500; ++i) {
    std::string config = i < static_cast<int>(std::size(shapes)) ? shapes[i] : "{\"";
    if (i >= static_cast<int>(std::size(shapes)))
      for (uint64_t k = stream.below(60); k > 0; --k) config += static_cast<char>(stream.next_u32());
    try {
      const RewardPlugin reward(session.plugin, config);
    } catch (const Error& error) {
      if (error.text().what.empty()) return {Verdict::fail, "refuses without a message"};
      ++refused;
    }
  }
  if (refused == 0) return {Verdict::warn, "accepts every text as its configuration"};
  return {Verdict::pass, fmt::format("{} of 500 refused, seed {}", refused, kSeed)};
}

CaseResult many_instances(const PluginFile& file) {
  Session session(file);
  const Texts texts = make_texts();
  for (int i = 0; i < 100; ++i) {
    RewardPlugin reward(session.plugin, "{}");
    std::vector<RewardScore> scores;
    reward.score(texts.samples, scores);
  }
  if (session.allocator.used() != 0)
    return {Verdict::fail, fmt::format("{} bytes of host memory left", session.allocator.used())};
  return {};
}

}  // namespace

std::vector<CheckCase> reward_cases(const PluginFile& file) {
  struct Entry {
    const char* id;
    const char* what;
    CaseResult (*body)(const PluginFile&);
  };
  constexpr Entry kEntries[] = {
      {"R01", "equal samples give equal bits", same_twice},
      {"R02", "a score does not depend on batch and order", independent_of_batch},
      {"R03", "wrong configurations give a status", survives_bad_config},
      {"R04", "100 instances, all memory given back", many_instances},
  };
  std::vector<CheckCase> cases;
  for (const Entry& entry : kEntries) {
    CaseResult result{Verdict::skip, "its code is not run"};
    if (file.usable() && !file.offers(VERLC_CAPABILITY_REWARD)) result.text = "it offers no verlc.reward/1";
    if (file.usable() && file.offers(VERLC_CAPABILITY_REWARD))
      result = run_isolated([&] { return entry.body(file); });
    cases.push_back({entry.id, entry.what, result});
  }
  return cases;
}

}  // namespace verlc
