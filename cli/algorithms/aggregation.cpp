#include "algorithms/aggregation.hpp"

#include <array>

#include "algorithms/registry.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"token-mean", "seq-mean-token-sum", "seq-mean-token-mean",
                                                    "seq-mean-token-sum-norm"};

double sequence_weight(Aggregation mode, int64_t sequence_tokens, const GlobalCounts& counts) {
  switch (mode) {
    case Aggregation::token_mean:
      return 1.0 / counts.tokens;
    case Aggregation::seq_mean_token_sum:
      return 1.0 / counts.sequences;
    case Aggregation::seq_mean_token_mean:
      return 1.0 / (counts.sequences * static_cast<double>(sequence_tokens));
    case Aggregation::seq_mean_token_sum_norm:
      return 1.0 / counts.norm_constant;
  }
  check(false, "every aggregation mode has a weight");
  return 0.0;
}

}  // namespace

std::vector<std::string> aggregation_names() {
  return {kNames.begin(), kNames.end()};
}

Aggregation parse_aggregation(const std::string& name, std::string_view where) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Aggregation>(i);
  fail_unknown_name(where, "aggregation mode", name, aggregation_names());
}

std::string_view aggregation_name(Aggregation mode) {
  return kNames[static_cast<size_t>(mode)];
}

GlobalCounts count_loss_tokens(const PackedLayout& layout) {
  GlobalCounts counts;
  for (const int64_t tokens : loss_tokens_per_sample(layout)) {
    counts.tokens += static_cast<double>(tokens);
    counts.sequences += tokens > 0 ? 1.0 : 0.0;
  }
  return counts;
}

GlobalCounts reduce_counts(GlobalCounts local, GroupReducer& group) {
  std::array<double, 2> sums = {local.tokens, local.sequences};
  group.sum(sums);
  return {.tokens = sums[0], .sequences = sums[1], .norm_constant = local.norm_constant};
}

std::vector<double> token_weights(Aggregation mode, const PackedLayout& layout, const GlobalCounts& counts) {
  check_layout(layout);
  check(mode != Aggregation::seq_mean_token_sum_norm || counts.norm_constant > 0.0,
        "seq-mean-token-sum-norm has a positive constant");
  std::vector<double> weights(layout.num_tokens(), 0.0);
  if (counts.tokens <= 0.0) return weights;
  const std::vector<int64_t> tokens = loss_tokens_per_sample(layout);
  for (size_t s = 0; s < tokens.size(); ++s) {
    if (tokens[s] == 0) continue;
    const double weight = sequence_weight(mode, tokens[s], counts);
    for (size_t t = layout.begin(s); t < layout.end(s); ++t)
      if (layout.mask[t] != 0) weights[t] = weight;
  }
  return weights;
}

}  // namespace verlc
