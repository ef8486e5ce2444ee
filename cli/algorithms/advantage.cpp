#include "algorithms/advantage.hpp"

#include <array>
#include <cmath>

#include "algorithms/exact_sum.hpp"
#include "core/base/check.hpp"

namespace verlc {

void register_advantage_all(AdvantageRegistry& registry);

AdvantageRegistry make_advantage_registry() {
  AdvantageRegistry registry("advantage estimator");
  register_advantage_all(registry);
  return registry;
}

std::vector<double> outcomes_of(const AdvantageInput& input) {
  if (input.outcomes.empty()) return sum_per_sample(input.layout, input.rewards);
  check(input.outcomes.size() == input.layout.num_samples(), "one outcome per sample");
  return {input.outcomes.begin(), input.outcomes.end()};
}

AdvantageOutput broadcast_outcomes(const PackedLayout& layout, std::span<const double> scalars) {
  check(scalars.size() == layout.num_samples(), "one scalar per sample");
  AdvantageOutput out;
  out.advantages.assign(layout.num_tokens(), 0.0F);
  for (size_t s = 0; s < scalars.size(); ++s)
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0) out.advantages[t] = static_cast<float>(scalars[s]);
  out.returns = out.advantages;
  return out;
}

GroupStatistics group_statistics(std::span<const size_t> group, std::span<const double> rewards, int ddof) {
  check(ddof == 0 || ddof == 1, "ddof is 0 or 1");
  const auto n = static_cast<double>(group.size());
  // As the distance from one of them: the mean of equal rewards is that reward, and their advantages are 0.
  const double first = rewards[group.front()];
  GroupStatistics statistics;
  for (const size_t s : group) statistics.mean += rewards[s] - first;
  statistics.mean = first + statistics.mean / n;
  double square = 0.0;
  for (const size_t s : group) square += (rewards[s] - statistics.mean) * (rewards[s] - statistics.mean);
  statistics.deviation = std::sqrt(square / (n - ddof));
  return statistics;
}

void for_each_group(const AdvantageInput& input, std::string_view estimator,
                    const std::function<void(std::span<const size_t>)>& body) {
  check(input.uids.size() == input.layout.num_samples(), "one uid per sample");
  for (const std::vector<size_t>& group : groups_by_uid(input.uids)) {
    if (group.size() < 2) fail_lone_group(estimator, input.uids[group.front()]);
    body(group);
  }
}

std::vector<float> rewards_to_go(const PackedLayout& layout, std::span<const float> rewards, double gamma) {
  check(rewards.size() == layout.num_tokens(), "one reward per token");
  std::vector<float> returns(layout.num_tokens(), 0.0F);
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double next = 0.0;
    for (size_t t = layout.end(s); t-- > layout.begin(s);) {
      if (layout.mask[t] == 0) continue;
      next = static_cast<double>(rewards[t]) + gamma * next;
      returns[t] = static_cast<float>(next);
    }
  }
  return returns;
}

void fail_lone_group(std::string_view estimator, uint64_t uid) {
  fail_input({.what = std::string(estimator) +
                      " compares the responses to one prompt, but a group holds a single response",
              .where = "rollout.n",
              .value = "group of 1 with uid " + std::to_string(uid),
              .fix = "set rollout.n to 2 or more, or choose another algorithm.adv_estimator"});
}

void whiten(std::span<float> values, std::span<const uint8_t> mask, GroupReducer& group) {
  check(values.size() == mask.size(), "one mask entry per value");
  std::array<ExactSum, 2> first;  // sum, count
  for (size_t t = 0; t < values.size(); ++t) {
    if (mask[t] == 0) continue;
    first[0].add(static_cast<double>(values[t]));
    first[1].add(1.0);
  }
  reduce_sums(first, group);
  const double count = first[1].value();
  const double mean = count > 0.0 ? first[0].value() / count : 0.0;
  std::array<ExactSum, 1> square;
  for (size_t t = 0; t < values.size(); ++t) {
    if (mask[t] == 0) continue;
    const double offset = static_cast<double>(values[t]) - mean;
    square[0].add(offset * offset);
  }
  reduce_sums(square, group);
  const bool skip = count < 2.0;
  const double scale = skip ? 1.0 : 1.0 / std::sqrt(square[0].value() / (count - 1.0) + 1e-8);
  for (size_t t = 0; t < values.size(); ++t) {
    if (mask[t] == 0)
      values[t] = 0.0F;
    else if (!skip)
      values[t] = static_cast<float>((static_cast<double>(values[t]) - mean) * scale);
  }
}

}  // namespace verlc
