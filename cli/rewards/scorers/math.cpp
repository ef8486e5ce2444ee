// Competition maths: the last balanced box of the response against the label.
#include "rewards/math_scorer.hpp"
#include "rewards/math_text.hpp"

namespace verlc {
namespace {

class BoxedMath final : public MathScorer {
 public:
  explicit BoxedMath(const ScorerOptions& options) : MathScorer({.wrong = options.format_score}) {}

  [[nodiscard]] std::string gold_answer(const nlohmann::json& ground_truth) const override {
    return "\\boxed{" + label_answer(ground_truth).value_or("") + "}";
  }

 protected:
  [[nodiscard]] std::optional<std::string> find_answer(std::string_view response) const override {
    return last_box(response);
  }
};

}  // namespace

void register_scorer_math(ScorerRegistry& registry) {
  registry.add(
      {.name = "math",
       .data_sources = {"lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500"},
       .make = [](const ScorerOptions& options) -> std::unique_ptr<Scorer> {
         return std::make_unique<BoxedMath>(options);
       }});
}

}  // namespace verlc
