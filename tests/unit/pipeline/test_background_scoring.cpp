#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/base/error.hpp"
#include "pipeline/background_scoring.hpp"
#include "pipeline/length_hints.hpp"

using namespace verlc;
using namespace verlc::pipeline;

namespace {

std::vector<Sample> make_samples(size_t count) {
  const auto prompt = std::make_shared<const Prompt>(Prompt{1, 2, 3, {4, 5}});
  std::vector<Sample> samples(count);
  for (size_t i = 0; i < count; ++i) {
    samples[i].prompt = prompt;
    samples[i].number = i;
    samples[i].response.assign(i + 1, static_cast<int32_t>(i));
    samples[i].text = "text " + std::to_string(i);
  }
  return samples;
}

// A score that tells which sample was asked for; every fifth has none.
RewardScore score_of(const ScoringJob& job) {
  const bool ok = job.number % 5 != 4;
  return {
      .reward = ok ? static_cast<double>(job.number) + 100.0 * static_cast<double>(job.response.size()) : 0.0,
      .ok = ok,
      .message = ok ? "" : "no answer in " + std::string(job.text)};
}

std::vector<RewardScore> judge_all(std::span<const ScoringJob> jobs) {
  std::vector<RewardScore> scores;
  for (const ScoringJob& job : jobs) scores.push_back(score_of(job));
  return scores;
}

void check_scores(const std::vector<RewardScore>& scores, const std::vector<Sample>& samples) {
  REQUIRE(scores.size() == samples.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    const RewardScore expected = score_of({i, samples[i].prompt.get(), samples[i].response, samples[i].text});
    CHECK(scores[i].ok == expected.ok);
    CHECK(scores[i].reward == expected.reward);
    CHECK(scores[i].message == expected.message);
  }
}

template <typename Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return condition();
}

}  // namespace

TEST_CASE("scores of finished samples are there before the last one is pushed") {
  const std::vector<Sample> samples = make_samples(20);
  BackgroundScoring scoring(judge_all);
  for (size_t i = 19; i > 0; --i) scoring.push(i, samples[i]);
  CHECK(eventually([&] { return scoring.num_scored() == 19; }));
  scoring.push(0, samples[0]);
  check_scores(scoring.finish(samples), samples);
}

TEST_CASE("what waits goes to the scorer together, in one call at a time") {
  const std::vector<Sample> samples = make_samples(30);
  std::atomic<int> calls{0}, inside{0}, most{0};
  std::atomic<bool> release{false};
  BackgroundScoring scoring([&](std::span<const ScoringJob> jobs) {
    most = std::max(most.load(), ++inside);
    ++calls;
    eventually([&] { return release.load(); });
    --inside;
    return judge_all(jobs);
  });
  scoring.push(7, samples[7]);
  REQUIRE(eventually([&] { return calls == 1; }));
  for (size_t i = 0; i < 30; ++i)
    if (i != 7) scoring.push(i, samples[i]);
  release = true;
  check_scores(scoring.finish(samples), samples);
  CHECK(calls == 2);
  CHECK(most == 1);
}

TEST_CASE("samples that were not pushed are scored at the end; pushed ones may outlive the caller's") {
  std::vector<Sample> samples = make_samples(6);
  BackgroundScoring scoring(judge_all);
  for (size_t i = 0; i < 3; ++i) {
    const Sample copy = samples[i];
    scoring.push(i, copy);
  }
  check_scores(scoring.finish(samples), samples);
}

TEST_CASE("a failing scorer gives the error of one call over all samples") {
  const std::vector<Sample> samples = make_samples(10);
  const auto judge = [](std::span<const ScoringJob> jobs) -> std::vector<RewardScore> {
    for (const ScoringJob& job : jobs)
      if (job.number == 3 || job.number == 8)
        fail_run({.what = "sample " + std::to_string(job.number), .where = {}, .value = {}, .fix = {}});
    return judge_all(jobs);
  };
  BackgroundScoring scoring(judge);
  // The later one fails first.
  for (const size_t i : {8, 9, 3, 0}) scoring.push(i, samples[i]);
  CHECK_THROWS_WITH(scoring.finish(samples), Catch::Contains("sample 3"));
}

TEST_CASE("nothing to score, and an end before the end") {
  BackgroundScoring nothing(judge_all);
  CHECK(nothing.finish({}).empty());
  const std::vector<Sample> samples = make_samples(4);
  std::atomic<int> calls{0};
  {
    BackgroundScoring dropped([&](std::span<const ScoringJob> jobs) {
      ++calls;
      return judge_all(jobs);
    });
    for (size_t i = 0; i < 4; ++i) dropped.push(i, samples[i]);
  }
  CHECK(calls <= 4);
}

TEST_CASE("expected lengths follow what a row answered") {
  LengthHints hints;
  CHECK(hints.expected(3) == 0);
  hints.note(3, 10);
  hints.note(3, 20);
  hints.note(4, 60);
  CHECK(hints.expected(3) == 15);
  CHECK(hints.expected(4) == 60);
  CHECK(hints.expected(99) == 30);
  for (int i = 0; i < 500; ++i) hints.note(3, 100);
  CHECK(hints.expected(3) >= 95);
}
