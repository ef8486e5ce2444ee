#include "rewards/scorer.hpp"

namespace verlc {
namespace {

[[noreturn]] void fail_option(const std::string& key, const nlohmann::json& value, const std::string& rule) {
  fail_input({.what = "must be " + rule,
              .where = "reward.config." + key,
              .value = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
              .fix = {}});
}

}  // namespace

ScorerOptions parse_scorer_options(const nlohmann::json& config) {
  ScorerOptions options;
  for (const auto& [key, value] : config.items()) {
    if (key == "method") {
      if (value != "strict" && value != "flexible") fail_option(key, value, "\"strict\" or \"flexible\"");
      options.flexible = value == "flexible";
    } else if (key == "format_score") {
      if (!value.is_number()) fail_option(key, value, "a number");
      options.format_score = value.get<double>();
    } else if (key == "marker") {
      if (!value.is_string()) fail_option(key, value, "text");
      options.marker = value.get<std::string>();
    } else if (key == "ignore_case") {
      if (!value.is_boolean()) fail_option(key, value, "true or false");
      options.ignore_case = value.get<bool>();
    } else {
      fail_unknown_name("reward.config." + key, "option of the built-in scorers", key,
                        {"method", "format_score", "marker", "ignore_case"});
    }
  }
  return options;
}

}  // namespace verlc
