// Short ways to score a text, for tests.
#pragma once

#include <memory>
#include <string>

#include "rewards/scorer.hpp"

namespace verlc::test {

inline std::unique_ptr<Scorer> make_scorer(const std::string& name, const ScorerOptions& options = {}) {
  return make_scorer_registry().find(name, "reward.name").make(options);
}

inline double score_of(const std::string& name, const std::string& response, const nlohmann::json& label,
                       const ScorerOptions& options = {}) {
  return make_scorer(name, options)->score(response, label, nlohmann::json::object()).value();
}

}  // namespace verlc::test
