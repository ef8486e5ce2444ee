// Text equality up to blanks: the response, or what follows the last marker in it, against the label.
#include <cctype>

#include "rewards/decimal.hpp"
#include "rewards/scorer.hpp"

namespace verlc {
namespace {

// Trimmed, each run of blanks one space, lower case if asked.
std::string normalised(std::string_view text, bool ignore_case) {
  std::string out;
  for (const char c : trim_blanks(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isspace(byte) != 0) {
      if (out.back() != ' ') out += ' ';
    } else {
      out += ignore_case && byte < 0x80 ? static_cast<char>(std::tolower(byte)) : c;
    }
  }
  return out;
}

class Exact final : public Scorer {
 public:
  explicit Exact(const ScorerOptions& options) : options_(options) {}

  [[nodiscard]] Score score(std::string_view response, const nlohmann::json& ground_truth,
                            const nlohmann::json& /*extra_info*/) const override {
    const std::string problem = label_problem(ground_truth);
    if (!problem.empty()) return Score::error(ScoreError::Kind::label, "the label " + problem);
    if (!options_.marker.empty()) {
      const size_t at = response.rfind(options_.marker);
      if (at == std::string_view::npos) return Score::of(0.0, {{"acc", 0.0}, {"pred", nullptr}});
      response.remove_prefix(at + options_.marker.size());
    }
    const std::string answer = normalised(response, options_.ignore_case);
    const bool right = answer == normalised(*label_text(ground_truth), options_.ignore_case);
    return Score::of(right ? 1.0 : 0.0, {{"acc", right ? 1.0 : 0.0}, {"pred", answer}});
  }

  [[nodiscard]] std::string label_problem(const nlohmann::json& ground_truth) const override {
    const std::optional<std::string> text = label_text(ground_truth);
    if (!text) return "is neither a string nor a number";
    return trim_blanks(*text).empty() ? "is empty, so that an empty answer would be right" : "";
  }

  [[nodiscard]] std::string gold_answer(const nlohmann::json& ground_truth) const override {
    return options_.marker + " " + label_text(ground_truth).value_or("");
  }

 private:
  ScorerOptions options_;
};

}  // namespace

void register_scorer_exact(ScorerRegistry& registry) {
  registry.add({.name = "exact", .make = [](const ScorerOptions& options) -> std::unique_ptr<Scorer> {
                  return std::make_unique<Exact>(options);
                }});
}

}  // namespace verlc
