// DAPO's maths: what stands behind the last "Answer:" of the response, scored 1 or -1; a response that has
// only a box is read from its box.
#include "rewards/math_scorer.hpp"
#include "rewards/math_text.hpp"

namespace verlc {
namespace {

class DapoMath final : public MathScorer {
 public:
  DapoMath() : MathScorer({.wrong = -1.0, .missing = -1.0}) {}

  [[nodiscard]] std::string gold_answer(const nlohmann::json& ground_truth) const override {
    return "Answer: \\boxed{" + label_answer(ground_truth).value_or("") + "}";
  }

 protected:
  [[nodiscard]] std::optional<std::string> find_answer(std::string_view response) const override {
    if (std::optional<std::string> line = last_answer_line(response)) return line;
    return last_box(response);
  }
};

}  // namespace

void register_scorer_math_dapo(ScorerRegistry& registry) {
  registry.add({.name = "math_dapo",
                .data_sources = {"math_dapo", "math", "math_dapo_reasoning", "aime*"},
                .make = [](const ScorerOptions& /*options*/) -> std::unique_ptr<Scorer> {
                  return std::make_unique<DapoMath>();
                }});
}

}  // namespace verlc
