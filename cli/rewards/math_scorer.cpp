#include "rewards/math_scorer.hpp"

#include "rewards/decimal.hpp"
#include "rewards/math_text.hpp"

namespace verlc {

std::optional<std::string> MathScorer::label_answer(const nlohmann::json& ground_truth) {
  std::optional<std::string> text = label_text(ground_truth);
  if (!text) return std::nullopt;
  if (std::optional<std::string> box = last_box(*text)) text = box;
  *text = std::string(trim_blanks(*text));
  if (!braces_balance(*text) || normalise_math(*text).empty()) return std::nullopt;
  return text;
}

Score MathScorer::score(std::string_view response, const nlohmann::json& ground_truth,
                        const nlohmann::json& /*extra_info*/) const {
  const std::optional<std::string> label = label_answer(ground_truth);
  if (!label) return Score::error(ScoreError::Kind::label, "the label " + label_problem(ground_truth));
  const std::optional<std::string> answer = find_answer(response);
  if (!answer) return Score::of(values_.missing, {{"acc", 0.0}, {"pred", nullptr}});
  const bool right = equal_math(*answer, *label);
  return Score::of(right ? values_.right : values_.wrong, {{"acc", right ? 1.0 : 0.0}, {"pred", *answer}});
}

std::string MathScorer::label_problem(const nlohmann::json& ground_truth) const {
  if (!label_text(ground_truth)) return "is neither a string nor a number";
  return label_answer(ground_truth) ? "" : "is empty or has unbalanced braces";
}

}  // namespace verlc
