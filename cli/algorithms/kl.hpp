// KL divergence to the reference, estimated from the log-probs of sampled tokens (Schulman, "Approximating KL
// divergence", 2020), as a penalty in the reward and as a term of the loss.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/group_reducer.hpp"
#include "algorithms/metric_part.hpp"
#include "algorithms/packed.hpp"

namespace verlc {

/// With d = ref - logp: k1 = -d; abs = |d|; k2 = d^2 / 2; k3 = e^d - d - 1, d clamped to +-20 and the result
/// to +-10.
enum class KlKind { k1, abs, k2, k3 };

/// An estimator. `straight_through` (a "+" behind the name) keeps the value and takes k2's derivative, which
/// is the gradient of KL(policy || ref) on-policy.
struct KlEstimator {
  KlKind kind = KlKind::k1;
  bool straight_through = false;
};

/// Names accepted by parse_kl: k1 (kl), abs, k2 (mse), k3 (low_var_kl), each also with a trailing "+".
std::vector<std::string> kl_names();
/// Error(input) with valid and nearest names otherwise; `where` is the key that held the name.
KlEstimator parse_kl(const std::string& name, std::string_view where);

/// Value and derivative with respect to logp. Where a clamp acts the derivative is 0 (traps T9).
struct KlTerm {
  double value = 0.0;
  double d_logp = 0.0;
};
KlTerm kl_term(KlEstimator estimator, double logp, double ref_logp);

/// Recipe keys under algorithm.kl_ctrl.
struct KlControlParams {
  bool adaptive = false;     ///< kl_ctrl.type: "fixed" or "adaptive"
  double kl_coef = 0.001;    ///< beta, or its first value
  double target_kl = 0.1;    ///< adaptive only
  double horizon = 10000.0;  ///< adaptive only, in samples
};

/// The coefficient of the KL penalty in the reward. Adaptive (Ziegler et al., 2019): after each step
/// beta *= 1 + clip(kl / target - 1, -0.2, 0.2) * samples / horizon.
class KlController {
 public:
  explicit KlController(const KlControlParams& params) : params_(params), coef_(params.kl_coef) {}

  [[nodiscard]] double coef() const { return coef_; }
  /// `kl`: mean over sequences of the per-token mean KL of this step; `samples`: sequences of this step, all
  /// ranks.
  void update(double kl, double samples);

  [[nodiscard]] nlohmann::json state() const { return {{"kl_coef", coef_}}; }
  /// Error(input) naming checkpoint state that is not a finite number.
  void restore(const nlohmann::json& state);

 private:
  KlControlParams params_;
  double coef_;
};

/// What the penalty did, the same on every rank.
struct KlPenaltyResult {
  std::vector<float> rewards;  ///< [T] score - coef * KL on loss tokens, 0 at masked slots
  double mean_kl = 0.0;  ///< actor/reward_kl_penalty: mean over sequences of the mean over their loss tokens
  double coef = 0.0;     ///< actor/reward_kl_penalty_coeff: the coefficient that was used
};

/// KL in reward: subtracts the penalty from token-level scores [T] and lets the controller see this step.
/// Every rank joins, also without samples. Sequences without loss tokens do not enter the mean.
KlPenaltyResult apply_kl_penalty(const PackedLayout& layout, std::span<const float> scores,
                                 std::span<const float> logp, std::span<const float> ref_logp,
                                 KlEstimator estimator, KlController& controller, GroupReducer& group);

}  // namespace verlc
