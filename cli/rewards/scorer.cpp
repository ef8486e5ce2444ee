#include "rewards/scorer.hpp"

#include <algorithm>

namespace verlc {

void register_scorer_all(ScorerRegistry& registry);

namespace {

constexpr std::string_view kAuto = "auto";

// Length of the match of `pattern` with `name`, plus one; 0 when it does not match.
size_t match_length(std::string_view pattern, std::string_view name) {
  if (!pattern.empty() && pattern.back() == '*') {
    pattern.remove_suffix(1);
    return name.starts_with(pattern) ? pattern.size() + 1 : 0;
  }
  return pattern == name ? pattern.size() + 2 : 0;
}

std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  constexpr size_t kMost = 80;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace

ScorerRegistry make_scorer_registry() {
  ScorerRegistry registry("scorer");
  register_scorer_all(registry);
  return registry;
}

const ScorerUnit& find_by_data_source(const ScorerRegistry& registry, const std::string& data_source,
                                      std::string_view where) {
  const ScorerUnit* best = nullptr;
  size_t best_length = 0;
  std::vector<std::string> known;
  for (const ScorerUnit& unit : registry.units()) {
    for (const std::string_view pattern : unit.data_sources) {
      known.emplace_back(pattern);
      const size_t length = match_length(pattern, data_source);
      if (length > best_length) {
        best = &unit;
        best_length = length;
      }
    }
  }
  if (best == nullptr)
    fail_input({.what = "no scorer is known for this data_source",
                .where = std::string(where),
                .value = data_source,
                .fix = "name a scorer with reward.name (" + join_names(registry.names()) +
                       "), or use a data_source out of " + join_names(known)});
  return *best;
}

ScorerTable::ScorerTable(const std::string& name, const ScorerOptions& options)
    : registry_(make_scorer_registry()), name_(name) {
  if (name_ != kAuto) static_cast<void>(registry_.find(name_, "reward.name"));
  for (const ScorerUnit& unit : registry_.units())
    scorers_.emplace(std::string(unit.name), unit.make(options));
}

const Scorer& ScorerTable::scorer_for(const std::string& data_source, std::string_view where) const {
  const std::string_view name =
      name_ == kAuto ? find_by_data_source(registry_, data_source, where).name : std::string_view(name_);
  return *scorers_.find(name)->second;
}

void validate_label(const Scorer& scorer, const nlohmann::json& ground_truth, std::string_view where) {
  const std::string problem = scorer.label_problem(ground_truth);
  if (problem.empty()) return;
  fail_input({.what = "the label " + problem,
              .where = std::string(where),
              .value = shown(ground_truth),
              .fix = "mend the row, or choose another scorer with reward.name"});
}

void self_test(const Scorer& scorer, const nlohmann::json& ground_truth, std::string_view where) {
  validate_label(scorer, ground_truth, where);
  const nlohmann::json no_info = nlohmann::json::object();
  const std::string gold = scorer.gold_answer(ground_truth);
  const Score best = scorer.score(gold, ground_truth, no_info);
  if (!best.has_value() || best.value() != scorer.max_score())
    fail_input({.what = "the scorer does not give its own gold answer the maximum",
                .where = std::string(where),
                .value = best.has_value() ? std::to_string(best.value()) : best.error().message,
                .fix = "mend the label, or choose another scorer with reward.name"});
  const Score none = scorer.score("", ground_truth, no_info);
  if (none.has_value() && none.value() >= scorer.max_score())
    fail_input({.what = "the scorer gives an empty answer the maximum",
                .where = std::string(where),
                .value = std::to_string(none.value()),
                .fix = "mend the label, or choose another scorer with reward.name"});
}

std::optional<std::string> label_text(const nlohmann::json& ground_truth) {
  if (ground_truth.is_string()) return ground_truth.get<std::string>();
  if (ground_truth.is_number()) return ground_truth.dump();
  return std::nullopt;
}

}  // namespace verlc
