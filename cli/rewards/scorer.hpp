// Scorers and how a row finds its own: by the recipe's name, or by the row's data_source.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "rewards/score.hpp"

namespace verlc {

/// Recipe keys under `reward`; each scorer reads its own.
struct ScorerOptions {
  bool flexible = false;      ///< gsm8k: take the last number anywhere instead of the one behind "#### "
  double format_score = 0.0;  ///< gsm8k, math: score of an answer that was found but is wrong
  std::string marker{};       ///< exact: compare only what follows the last occurrence of this
  bool ignore_case = false;   ///< exact: ASCII letters of either case are equal
};

/// Options from the recipe's table reward.config: "method" ("strict" or "flexible"), "format_score",
/// "marker", "ignore_case". Error(input) naming reward.config.<key> for an unknown key or a value of another
/// kind.
ScorerOptions parse_scorer_options(const nlohmann::json& config);

/// A verifier of responses. Const calls are thread-safe and take time linear in the response.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// Score of `response` (text, any bytes) against the row's ground truth; `extra_info` is the row's own
  /// object.
  [[nodiscard]] virtual Score score(std::string_view response, const nlohmann::json& ground_truth,
                                    const nlohmann::json& extra_info) const = 0;
  /// What keeps this scorer from reading a label, as the end of a sentence ("is not a number"); empty when it
  /// can.
  [[nodiscard]] virtual std::string label_problem(const nlohmann::json& ground_truth) const = 0;
  /// A response that deserves max_score() for a readable label.
  [[nodiscard]] virtual std::string gold_answer(const nlohmann::json& ground_truth) const = 0;
  [[nodiscard]] virtual double max_score() const { return 1.0; }
};

/// One scorer of this build. `data_sources` are verl's names that select it; a trailing '*' matches any
/// ending.
struct ScorerUnit {
  std::string_view name{};
  std::vector<std::string_view> data_sources{};
  std::unique_ptr<Scorer> (*make)(const ScorerOptions&) = nullptr;
};

using ScorerRegistry = Registry<ScorerUnit>;

/// All scorers of this build.
ScorerRegistry make_scorer_registry();

/// The unit whose data_sources match, the longest match first; Error(input) naming `where` (file:line: key),
/// the value and what is supported otherwise.
const ScorerUnit& find_by_data_source(const ScorerRegistry& registry, const std::string& data_source,
                                      std::string_view where);

/// The scorers of a run. Immutable after construction, so threads may share it.
class ScorerTable {
 public:
  /// `name`: the recipe's reward.name; "auto" picks by each row's data_source. Error(input) for an unknown
  /// name.
  ScorerTable(const std::string& name, const ScorerOptions& options);

  /// The scorer of a row. Error(input) as find_by_data_source.
  [[nodiscard]] const Scorer& scorer_for(const std::string& data_source, std::string_view where) const;

 private:
  ScorerRegistry registry_;
  std::string name_;
  std::map<std::string, std::unique_ptr<Scorer>, std::less<>> scorers_;
};

/// Error(input) naming `where` ("rows.jsonl:7: reward_model.ground_truth") when the scorer cannot read the
/// label.
void validate_label(const Scorer& scorer, const nlohmann::json& ground_truth, std::string_view where);

/// Error(input) naming `where` unless the gold answer scores the maximum and an empty answer scores less.
void self_test(const Scorer& scorer, const nlohmann::json& ground_truth, std::string_view where);

/// A label as text: strings as they are, whole numbers in decimal, other numbers as JSON writes them; none
/// for every other kind.
std::optional<std::string> label_text(const nlohmann::json& ground_truth);

}  // namespace verlc
