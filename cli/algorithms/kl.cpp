#include "algorithms/kl.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/exact_sum.hpp"
#include "algorithms/registry.hpp"
#include "core/base/check.hpp"

namespace verlc {
namespace {

constexpr double kLogRatioClamp = 20.0;
constexpr double kValueClamp = 10.0;

struct NamedKind {
  const char* name;
  KlKind kind;
};
constexpr std::array<NamedKind, 7> kKinds = {{{"k1", KlKind::k1},
                                              {"kl", KlKind::k1},
                                              {"abs", KlKind::abs},
                                              {"k2", KlKind::k2},
                                              {"mse", KlKind::k2},
                                              {"k3", KlKind::k3},
                                              {"low_var_kl", KlKind::k3}}};

KlTerm k3_term(double d) {
  const double clamped = std::clamp(d, -kLogRatioClamp, kLogRatioClamp);
  const double value = std::exp(clamped) - clamped - 1.0;
  const bool inside = d == clamped && value <= kValueClamp;
  return {.value = std::min(value, kValueClamp), .d_logp = inside ? 1.0 - std::exp(d) : 0.0};
}

KlTerm plain_term(KlKind kind, double logp, double ref_logp) {
  const double d = ref_logp - logp;
  switch (kind) {
    case KlKind::k1:
      return {.value = -d, .d_logp = 1.0};
    case KlKind::abs:
      return {.value = std::abs(d), .d_logp = d < 0.0 ? 1.0 : (d > 0.0 ? -1.0 : 0.0)};
    case KlKind::k2:
      return {.value = 0.5 * d * d, .d_logp = -d};
    case KlKind::k3:
      return k3_term(d);
  }
  check(false, "every KL kind has a term");
  return {};
}

}  // namespace

std::vector<std::string> kl_names() {
  std::vector<std::string> names;
  for (const NamedKind& entry : kKinds) {
    names.emplace_back(entry.name);
    names.push_back(std::string(entry.name) + "+");
  }
  return names;
}

KlEstimator parse_kl(const std::string& name, std::string_view where) {
  const bool plus = !name.empty() && name.back() == '+';
  const std::string stem = plus ? name.substr(0, name.size() - 1) : name;
  for (const NamedKind& entry : kKinds)
    if (stem == entry.name) return {.kind = entry.kind, .straight_through = plus};
  fail_unknown_name(where, "KL estimator", name, kl_names());
}

KlTerm kl_term(KlEstimator estimator, double logp, double ref_logp) {
  KlTerm term = plain_term(estimator.kind, logp, ref_logp);
  if (estimator.straight_through) term.d_logp = logp - ref_logp;
  return term;
}

void KlController::update(double kl, double samples) {
  if (!params_.adaptive || !std::isfinite(kl)) return;
  const double error = std::clamp(kl / params_.target_kl - 1.0, -0.2, 0.2);
  coef_ *= 1.0 + error * samples / params_.horizon;
}

void KlController::restore(const nlohmann::json& state) {
  const auto found = state.is_object() ? state.find("kl_coef") : state.end();
  if (found == state.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    fail_input({.what = "the KL controller's state holds no finite kl_coef",
                .where = "checkpoint",
                .value = state.dump(),
                .fix = "resume from another checkpoint"});
  coef_ = found->get<double>();
}

KlPenaltyResult apply_kl_penalty(const PackedLayout& layout, std::span<const float> scores,
                                 std::span<const float> logp, std::span<const float> ref_logp,
                                 KlEstimator estimator, KlController& controller, GroupReducer& group) {
  const size_t tokens = layout.num_tokens();
  check(scores.size() == tokens && logp.size() == tokens && ref_logp.size() == tokens, "one value per token");
  KlPenaltyResult result;
  result.coef = controller.coef();
  result.rewards.assign(tokens, 0.0F);
  std::array<ExactSum, 2> sums;  // mean KL of sequences, sequences
  for (size_t s = 0; s < layout.num_samples(); ++s) {
    double total = 0.0, count = 0.0;
    for (size_t t = layout.begin(s); t < layout.end(s); ++t) {
      if (layout.mask[t] == 0) continue;
      const double kl = kl_term(estimator, logp[t], ref_logp[t]).value;
      result.rewards[t] = static_cast<float>(static_cast<double>(scores[t]) - result.coef * kl);
      total += kl;
      count += 1.0;
    }
    if (count == 0.0) continue;
    sums[0].add(total / count);
    sums[1].add(1.0);
  }
  reduce_sums(sums, group);
  const double sequences = sums[1].value();
  if (sequences > 0.0) {
    result.mean_kl = sums[0].value() / sequences;
    controller.update(result.mean_kl, sequences);
  }
  return result;
}

}  // namespace verlc
