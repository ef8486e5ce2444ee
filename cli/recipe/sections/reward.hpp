// [reward]: who scores a response and what happens when a scorer fails.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct RewardSection {
  std::string name = "auto";           ///< a scorer, or auto: chosen by each row's data_source
  std::string plugin;                  ///< path or id of a reward plugin; empty = built-in scorers
  FreeTable config;                    ///< options of the scorers, or handed to the plugin as JSON
  std::string error_policy = "abort";  ///< abort | drop_sample | drop_group
  double max_error_rate = 0.05;        ///< share of samples of a step; more ends the run

  void fields(FieldVisitor& visitor);
  bool operator==(const RewardSection&) const = default;
};

}  // namespace verlc
