// GMPO (Zhao et al., "Geometric-mean policy optimization", 2025): the clipped log-ratios of a response are
// averaged, and the exponential of that mean is its ratio: -mean(A) exp(mean_t d_t), one term a sequence.
#include "algorithms/token_terms.hpp"

namespace verlc {
namespace {

struct Clipped {
  double log = 0.0;
  bool moves = false;
};

// The side of the clip that lowers the objective, by the sign of the advantage; an advantage of 0 keeps none.
Clipped clipped_log(double log_ratio, double advantage, const PolicyLossParams& params) {
  if (advantage == 0.0) return {};
  const double sign = advantage > 0.0 ? 1.0 : -1.0;
  const double bounded = std::clamp(log_ratio, -params.clip_ratio_low, params.clip_ratio_high);
  const bool moves = sign * log_ratio <= sign * bounded;
  return {moves ? log_ratio : bounded, moves};
}

double compute(const PolicyLossInput& input, const PolicyLossParams& params, std::span<double> d_logp,
               std::vector<MetricPart>& metrics) {
  const PackedLayout& layout = input.layout;
  // Value and derivative factor of a whole sequence, at each of its tokens; weights of a sequence's tokens
  // add up to its share.
  std::vector<double> value(layout.num_tokens(), 0.0);
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double sum = 0.0, advantage = 0.0, count = 0.0;
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) {
      if (layout.mask[t] == 0) continue;
      sum += clipped_log(log_ratio_at(input, t), input.advantages[t], params).log;
      advantage += input.advantages[t];
      count += 1.0;
    }
    if (count == 0.0) continue;
    const double term = -advantage / count * std::exp(sum / count);
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) value[t] = term;
  }
  return sum_token_terms(input, d_logp, metrics, [&](size_t t) {
    const double advantage = input.advantages[t];
    const bool moves = clipped_log(log_ratio_at(input, t), advantage, params).moves;
    return TokenTerm{
        .value = value[t], .d_logp = moves ? value[t] : 0.0, .clipped = !moves && advantage != 0.0};
  });
}

}  // namespace

void register_policy_loss_geo_mean(PolicyLossRegistry& registry) {
  registry.add({.name = "geo_mean",
                .help = "one ratio a response, the geometric mean of its clipped ones; clip ranges are of "
                        "log-ratios, 0.4 is usual",
                .keys = {"clip_ratio", "clip_ratio_low", "clip_ratio_high"},
                .aggregation = Aggregation::seq_mean_token_mean,
                .compute = compute});
}

}  // namespace verlc
