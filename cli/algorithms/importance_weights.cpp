#include "algorithms/importance_weights.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/policy_loss.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

float capped(double log_ratio, double cap) {
  return static_cast<float>(std::min(std::exp(std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio)), cap));
}

}  // namespace

std::vector<float> importance_weights(ImportanceLevel level, const PackedLayout& layout,
                                      std::span<const float> old_logp, std::span<const float> rollout_logp,
                                      double cap) {
  check(old_logp.size() == layout.num_tokens() && rollout_logp.size() == layout.num_tokens(),
        "one value per token");
  check(cap > 0.0, "the cap of importance weights is positive");
  std::vector<float> weights(layout.num_tokens(), 0.0F);
  const auto log_ratio = [&](size_t t) {
    return static_cast<double>(old_logp[t]) - static_cast<double>(rollout_logp[t]);
  };
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double total = 0.0;
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0) total += log_ratio(t);
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0)
        weights[t] = capped(level == ImportanceLevel::token ? log_ratio(t) : total, cap);
  }
  return weights;
}

}  // namespace verlc
