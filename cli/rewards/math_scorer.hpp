// What scorers of LaTeX answers share: a label that is an answer, and equality by equal_math.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rewards/scorer.hpp"

namespace verlc {

/// Base of scorers whose label is one LaTeX answer (or a text that boxes one).
class MathScorer : public Scorer {
 public:
  [[nodiscard]] Score score(std::string_view response, const nlohmann::json& ground_truth,
                            const nlohmann::json& extra_info) const override;
  [[nodiscard]] std::string label_problem(const nlohmann::json& ground_truth) const override;

 protected:
  struct Values {
    double right = 1.0;
    double wrong = 0.0;
    double missing = 0.0;
  };
  explicit MathScorer(Values values) : values_(values) {}

  /// The answer that a response gives, none when it gives none.
  [[nodiscard]] virtual std::optional<std::string> find_answer(std::string_view response) const = 0;
  /// The answer that a label holds; none when it is unreadable.
  [[nodiscard]] static std::optional<std::string> label_answer(const nlohmann::json& ground_truth);

 private:
  Values values_;
};

}  // namespace verlc
