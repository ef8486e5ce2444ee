// [trainer]: how long, how often, on how many ranks.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct TrainerSection {
  int64_t total_epochs = 1;
  std::optional<int64_t> total_training_steps;  ///< unset: total_epochs passes over the data
  int64_t save_freq = -1;                       ///< steps; -1 = only at the end
  int64_t test_freq = -1;                       ///< steps; -1 = only at the end
  bool val_before_train = true;
  std::string resume_mode = "auto";  ///< auto | disable | resume_path
  std::string resume_from_path;      ///< resume_path: a global_step_N folder
  int64_t ranks = 1;
  int64_t threads_per_rank = 0;  ///< 0 = the host's cores shared among its ranks
  bool oversubscribe = false;
  bool balance_batch = true;  ///< equal token counts on ranks
  std::vector<std::string> logger = {"console", "file"};
  bool rollout_data = false;  ///< write rollouts/*.jsonl
  int64_t comm_timeout_s = 600;

  void fields(FieldVisitor& visitor);
  bool operator==(const TrainerSection&) const = default;
};

}  // namespace verlc
