// Grade-school maths: the number behind "#### " (strict) or the last number of the response (flexible).
#include <cctype>

#include "rewards/decimal.hpp"
#include "rewards/scorer.hpp"

namespace verlc {
namespace {

constexpr std::string_view kMarker = "####";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool in_number(char c) {
  return is_digit(c) || c == '.' || c == ',';
}

std::string_view without_stops(std::string_view number) {
  while (!number.empty() && (number.back() == '.' || number.back() == ',')) number.remove_suffix(1);
  return number;
}

// The number that starts at `at`: signs and currency, then digits; empty when there is none.
std::string_view number_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && (text[end] == '-' || text[end] == '+' || text[end] == '$' || text[end] == '\\'))
    ++end;
  const size_t digits = end;
  while (end < text.size() && in_number(text[end])) ++end;
  const std::string_view number = without_stops(text.substr(at, end - at));
  return number.size() > digits - at ? number : std::string_view();
}

std::string_view strict_answer(std::string_view text) {
  std::string_view answer;
  for (size_t at = text.find(kMarker); at != std::string_view::npos; at = text.find(kMarker, at)) {
    at += kMarker.size();
    while (at < text.size() && text[at] == '#') ++at;
    const size_t blanks = at;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at == blanks) continue;
    const std::string_view number = number_at(text, at);
    if (!number.empty()) answer = number;
  }
  return answer;
}

std::string_view flexible_answer(std::string_view text) {
  std::string_view answer;
  for (size_t i = 0; i < text.size();) {
    if (!is_digit(text[i]) && !(text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      ++i;
      continue;
    }
    size_t begin = i;
    while (i < text.size() && in_number(text[i])) ++i;
    const size_t end = i;
    if (begin > 0 && text[begin - 1] == '$') --begin;
    // A dash behind a letter or digit joins or subtracts; elsewhere it is a sign.
    const bool dash = begin > 0 && text[begin - 1] == '-';
    if (dash && (begin == 1 || std::isalnum(static_cast<unsigned char>(text[begin - 2])) == 0)) --begin;
    answer = without_stops(text.substr(begin, end - begin));
    const size_t comma = answer.rfind(',');
    if (!parse_decimal(answer) && comma != std::string_view::npos) answer.remove_prefix(comma + 1);
  }
  return answer;
}

class Gsm8k final : public Scorer {
 public:
  explicit Gsm8k(const ScorerOptions& options) : options_(options) {}

  [[nodiscard]] Score score(std::string_view response, const nlohmann::json& ground_truth,
                            const nlohmann::json& /*extra_info*/) const override {
    const std::optional<std::string> text = label_text(ground_truth);
    const std::optional<Decimal> label = text ? parse_decimal(*text) : std::nullopt;
    if (!label) return Score::error(ScoreError::Kind::label, "the label is not a number");
    const std::string_view answer = options_.flexible ? flexible_answer(response) : strict_answer(response);
    if (answer.empty()) return Score::of(0.0, {{"acc", 0.0}, {"pred", nullptr}});
    const bool right = parse_decimal(answer) == label;
    return Score::of(right ? 1.0 : options_.format_score,
                     {{"acc", right ? 1.0 : 0.0}, {"pred", std::string(answer)}});
  }

  [[nodiscard]] std::string label_problem(const nlohmann::json& ground_truth) const override {
    const std::optional<std::string> text = label_text(ground_truth);
    return text && parse_decimal(*text) ? "" : "is not a decimal number, which gsm8k needs";
  }

  [[nodiscard]] std::string gold_answer(const nlohmann::json& ground_truth) const override {
    return "#### " + std::string(trim_blanks(label_text(ground_truth).value_or("")));
  }

 private:
  ScorerOptions options_;
};

}  // namespace

void register_scorer_gsm8k(ScorerRegistry& registry) {
  registry.add({.name = "gsm8k",
                .data_sources = {"openai/gsm8k"},
                .make = [](const ScorerOptions& options) -> std::unique_ptr<Scorer> {
                  return std::make_unique<Gsm8k>(options);
                }});
}

}  // namespace verlc
