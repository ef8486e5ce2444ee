// GSPO (Zheng et al., "Group sequence policy optimization", 2025), its token form: every token's ratio has
// the value of the sequence's geometric-mean ratio and the gradient of its own log-prob.
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

constexpr double kMaxLog = 10.0;

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  const PackedLayout& layout = input.layout;
  std::vector<Ratio> ratios(layout.num_tokens());
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double sum = 0.0, count = 0.0;
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) {
      if (layout.mask[t] == 0) continue;
      sum += log_ratio_at(input, t);
      count += 1.0;
    }
    if (count == 0.0) continue;
    const double held = std::min(sum / count, kMaxLog);
    const Ratio ratio{std::exp(held), held == sum / count};
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) ratios[t] = ratio;
  }
  return sum_token_terms(input, d_logp, metrics,
                         [&](size_t t) { return clipped_surrogate(ratios[t], input.advantages[t], params); });
}

}  // namespace

void register_policy_loss_gspo(PolicyLossRegistry& registry) {
  registry.add({.name = "gspo",
                .help = "clip of the sequence's mean ratio; clip ranges of 3e-4 and 4e-4 are usual",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high"},
                .aggregation = Aggregation::seq_mean_token_mean,
                .compute = compute});
}

}  // namespace verlc
