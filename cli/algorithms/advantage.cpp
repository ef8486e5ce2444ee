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
